;; Scores codes of vectors.i4 against one query. The high bits of row r of a piece begin at $codes + r * $rowBytes of
;; $held, which threads share, and so do its low bits, with other $codes and $rowBytes; all else lies in $own. The query
;; has one signed byte a component, in the order of the components, and then that of the component along the mean.
;;
;; The dot product is a relaxed instruction. Its result is the same on every machine here, because the second operand
;; lies between 0 and 12, and 2 * 127 * 12 does not saturate sixteen bits.
(module
  (import "codes" "memory" (memory $held 1 65536 shared))
  (memory $own (export "memory") 1)

  ;; V8 makes a constant anew for each use, in three instructions. A variable stays in its register.
  (global $even (mut v128) (v128.const i32x4 0x03030303 0x03030303 0x03030303 0x03030303))
  (global $odd (mut v128) (v128.const i32x4 0x0c0c0c0c 0x0c0c0c0c 0x0c0c0c0c 0x0c0c0c0c))

  ;; The sum of query byte * two bits over the components from $at up to $end. Each quarter of a block has a sum of its
  ;; own, so that none waits for another. Those of the odd quarters are four times as large, which saves shifts.
  (func $dot (param $at i32) (param $end i32) (param $query i32) (result i32)
    (local $even v128) (local $odd v128) (local $block v128)
    (local $first v128) (local $second v128) (local $third v128) (local $fourth v128)
    (local.set $even (global.get $even))
    (local.set $odd (global.get $odd))
    (loop $blocks
      (local.set $block (v128.load $held (local.get $at)))
      (local.set $first
        (i32x4.relaxed_dot_i8x16_i7x16_add_s
          (v128.load $own (local.get $query))
          (v128.and (local.get $block) (local.get $even))
          (local.get $first)))
      (local.set $second
        (i32x4.relaxed_dot_i8x16_i7x16_add_s
          (v128.load $own offset=16 (local.get $query))
          (v128.and (local.get $block) (local.get $odd))
          (local.get $second)))
      (local.set $block (i16x8.shr_u (local.get $block) (i32.const 4)))
      (local.set $third
        (i32x4.relaxed_dot_i8x16_i7x16_add_s
          (v128.load $own offset=32 (local.get $query))
          (v128.and (local.get $block) (local.get $even))
          (local.get $third)))
      (local.set $fourth
        (i32x4.relaxed_dot_i8x16_i7x16_add_s
          (v128.load $own offset=48 (local.get $query))
          (v128.and (local.get $block) (local.get $odd))
          (local.get $fourth)))
      (local.set $query (i32.add (local.get $query) (i32.const 64)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $blocks (i32.lt_u (local.get $at) (local.get $end))))
    (local.set $first
      (i32x4.add
        (i32x4.add (local.get $first) (local.get $third))
        (i32x4.shr_s (i32x4.add (local.get $second) (local.get $fourth)) (i32.const 2))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $first)) (i32x4.extract_lane 1 (local.get $first)))
      (i32.add (i32x4.extract_lane 2 (local.get $first)) (i32x4.extract_lane 3 (local.get $first)))))

  ;; Brings the rows from $from up to $to into the cache, but for their last bytes that do not make 512. It loads one
  ;; number of each 64 bytes. None of these loads waits for another; a score waits for its bytes before the next begins.
  ;; The result depends on all numbers, so that V8 cannot leave a load out. No caller uses it.
  (func $fetch (param $codes i32) (param $rowBytes i32) (param $from i32) (param $to i32) (result i32)
    (local $at i32) (local $end i32) (local $line i32)
    (local.set $at (i32.add (local.get $codes) (i32.mul (local.get $from) (local.get $rowBytes))))
    (local.set $end (i32.add (local.get $codes) (i32.mul (local.get $to) (local.get $rowBytes))))
    (block $noneLeft
      (loop $lines
        (br_if $noneLeft (i32.lt_u (i32.sub (local.get $end) (local.get $at)) (i32.const 512)))
        (local.set $line (i32.or (local.get $line) (i32.load $held (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=64 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=128 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=192 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=256 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=320 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=384 (local.get $at))))
        (local.set $line (i32.or (local.get $line) (i32.load $held offset=448 (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 512)))
        (br $lines)))
    (local.get $line))

  ;; Scores the high bits of each row whose bit is set. Appends (row, score) to $hits for each row whose score is above
  ;; $threshold, and clears the bits of the others. Returns the number of hits. If $far holds and at least half of 32
  ;; rows are scored, these are fetched first.
  (func (export "scan")
    (param $codes i32) (param $rowBytes i32) (param $query i32) (param $bits i32) (param $words i32)
    (param $threshold i32) (param $hits i32) (param $far i32) (result i32)
    (local $word i32) (local $kept i32) (local $row i32) (local $at i32) (local $end i32) (local $next i32)
    (local $score i32) (local $base i32) (local $lowBytes i32) (local $common i32)
    (local.set $next (local.get $hits))
    (local.set $lowBytes (i32.sub (local.get $rowBytes) (i32.const 2)))
    (local.set $common
      (i32.load8_s $own (i32.add (local.get $query) (i32.shl (local.get $lowBytes) (i32.const 2)))))
    (block $noWordLeft
      (loop $words_
        (br_if $noWordLeft (i32.eqz (local.get $words)))
        (local.set $word (i32.load $own (local.get $bits)))
        (local.set $kept (local.get $word))
        (if (i32.and (local.get $far) (i32.ge_u (i32.popcnt (local.get $word)) (i32.const 16)))
          (then
            ;; Nobody reads it there: a place counts as a hit only once a hit is written to it.
            (i32.store $own (local.get $next)
              (call $fetch
                (local.get $codes)
                (local.get $rowBytes)
                (i32.add (local.get $base) (i32.ctz (local.get $word)))
                (i32.add (local.get $base) (i32.sub (i32.const 32) (i32.clz (local.get $word))))))))
        (block $noBitLeft
          (loop $bits_
            (br_if $noBitLeft (i32.eqz (local.get $word)))
            (local.set $row (i32.add (local.get $base) (i32.ctz (local.get $word))))
            (local.set $at (i32.add (local.get $codes) (i32.mul (local.get $row) (local.get $rowBytes))))
            (local.set $end (i32.add (local.get $at) (local.get $lowBytes)))
            (local.set $score
              (i32.add
                (i32.mul (i32.load16_u $held (local.get $end)) (local.get $common))
                (i32.shl (call $dot (local.get $at) (local.get $end) (local.get $query)) (i32.const 2))))
            (if (i32.gt_s (local.get $score) (local.get $threshold))
              (then
                (i32.store $own (local.get $next) (local.get $row))
                (i32.store $own offset=4 (local.get $next) (local.get $score))
                (local.set $next (i32.add (local.get $next) (i32.const 8))))
              (else
                (local.set $kept (i32.xor (local.get $kept) (i32.shl (i32.const 1) (local.get $row))))))
            (local.set $word (i32.and (local.get $word) (i32.sub (local.get $word) (i32.const 1))))
            (br $bits_)))
        (i32.store $own (local.get $bits) (local.get $kept))
        (local.set $base (i32.add (local.get $base) (i32.const 32)))
        (local.set $bits (i32.add (local.get $bits) (i32.const 4)))
        (local.set $words (i32.sub (local.get $words) (i32.const 1)))
        (br $words_)))
    (i32.shr_u (i32.sub (local.get $next) (local.get $hits)) (i32.const 3)))

  ;; Adds what the low bits add to the score of each hit, at most $most. Writes the sum of the scores and the sum of
  ;; their squares to $sums, as f64, and keeps the hits above $threshold. Returns their number. If $far holds and the
  ;; hits are at least half of the rows from the first to the last of them, these are fetched first.
  (func (export "refine")
    (param $codes i32) (param $rowBytes i32) (param $query i32) (param $hits i32) (param $count i32)
    (param $most i32) (param $threshold i32) (param $sums i32) (param $far i32) (result i32)
    (local $from i32) (local $to i32) (local $next i32) (local $row i32) (local $end i32) (local $at i32)
    (local $low i32) (local $score i32) (local $value f64) (local $sum f64) (local $squares f64)
    (local.set $from (local.get $hits))
    (local.set $next (local.get $hits))
    (local.set $to (i32.add (local.get $hits) (i32.shl (local.get $count) (i32.const 3))))
    (if (i32.and (local.get $far) (i32.ge_u (local.get $count) (i32.const 16)))
      (then
        (local.set $row (i32.load $own (local.get $hits)))
        (local.set $end (i32.add (i32.load $own (i32.sub (local.get $to) (i32.const 8))) (i32.const 1)))
        (if (i32.le_u (i32.sub (local.get $end) (local.get $row)) (i32.shl (local.get $count) (i32.const 1)))
          (then
            ;; The sums are written over it.
            (i32.store $own (local.get $sums)
              (call $fetch (local.get $codes) (local.get $rowBytes) (local.get $row) (local.get $end)))))))
    (block $noHitLeft
      (loop $hits_
        (br_if $noHitLeft (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $row (i32.load $own (local.get $from)))
        (local.set $at (i32.add (local.get $codes) (i32.mul (local.get $row) (local.get $rowBytes))))
        (local.set $low
          (call $dot (local.get $at) (i32.add (local.get $at) (local.get $rowBytes)) (local.get $query)))
        (local.set $score
          (i32.add
            (i32.load $own offset=4 (local.get $from))
            (select (local.get $low) (local.get $most) (i32.lt_s (local.get $low) (local.get $most)))))
        (local.set $value (f64.convert_i32_s (local.get $score)))
        (local.set $sum (f64.add (local.get $sum) (local.get $value)))
        (local.set $squares (f64.add (local.get $squares) (f64.mul (local.get $value) (local.get $value))))
        (if (i32.gt_s (local.get $score) (local.get $threshold))
          (then
            (i32.store $own (local.get $next) (local.get $row))
            (i32.store $own offset=4 (local.get $next) (local.get $score))
            (local.set $next (i32.add (local.get $next) (i32.const 8)))))
        (local.set $from (i32.add (local.get $from) (i32.const 8)))
        (br $hits_)))
    (f64.store $own (local.get $sums) (local.get $sum))
    (f64.store $own offset=8 (local.get $sums) (local.get $squares))
    (i32.shr_u (i32.sub (local.get $next) (local.get $hits)) (i32.const 3))))
