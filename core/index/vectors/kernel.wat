;; Scores SQ4 vectors against one query. That of row r of a piece begins at $codes + r * $rowBytes of $held,
;; which threads share; all else lies in $own. The query has one signed byte a component, in the order of the components,
;; and then that of the component along the mean.
;;
;; The dot product is a relaxed instruction. Its result is the same on every machine here, because the second operand
;; lies between 0 and 15, and 2 * 127 * 15 does not saturate sixteen bits.
(module
  (import "codes" "memory" (memory $held 1 65536 shared))
  (memory $own (export "memory") 1)

  ;; Scores the rows whose bits are set in the $words words from $bits on. Writes each row above $threshold and its score
  ;; to $hits, by row, and returns their number.
  (func (export "scan")
    (param $codes i32) (param $rowBytes i32) (param $query i32) (param $bits i32) (param $words i32)
    (param $threshold i32) (param $hits i32) (result i32)
    (local $next i32) (local $base i32) (local $word i32) (local $row i32) (local $at i32) (local $end i32)
    (local $asked i32) (local $along i32) (local $score i32) (local $low v128) (local $block v128)
    (local $first v128) (local $second v128) (local $third v128) (local $fourth v128)
    (local.set $next (local.get $hits))
    ;; V8 makes a constant anew for each use, in three instructions. A variable stays in its register.
    (local.set $low (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (local.set $along
      (i32.load8_s $own
        (i32.add (local.get $query) (i32.shl (i32.sub (local.get $rowBytes) (i32.const 2)) (i32.const 1)))))
    (block $noWordLeft
      (loop $words_
        (br_if $noWordLeft (i32.eqz (local.get $words)))
        (local.set $word (i32.load $own (local.get $bits)))
        (block $noBitLeft
          (loop $bits_
            (br_if $noBitLeft (i32.eqz (local.get $word)))
            (local.set $row (i32.add (local.get $base) (i32.ctz (local.get $word))))
            (local.set $at (i32.add (local.get $codes) (i32.mul (local.get $row) (local.get $rowBytes))))
            (local.set $end (i32.add (local.get $at) (i32.sub (local.get $rowBytes) (i32.const 2))))
            (local.set $asked (local.get $query))
            (local.set $first (v128.const i32x4 0 0 0 0))
            (local.set $second (v128.const i32x4 0 0 0 0))
            (local.set $third (v128.const i32x4 0 0 0 0))
            (local.set $fourth (v128.const i32x4 0 0 0 0))
            ;; Each quarter of a block has a sum of its own, so that none waits for another.
            (loop $blocks
              (local.set $block (v128.load $held (local.get $at)))
              (local.set $first
                (i32x4.relaxed_dot_i8x16_i7x16_add_s
                  (v128.load $own (local.get $asked))
                  (v128.and (local.get $block) (local.get $low))
                  (local.get $first)))
              (local.set $second
                (i32x4.relaxed_dot_i8x16_i7x16_add_s
                  (v128.load $own offset=32 (local.get $asked))
                  (v128.and (i16x8.shr_u (local.get $block) (i32.const 4)) (local.get $low))
                  (local.get $second)))
              (local.set $block (v128.load $held offset=16 (local.get $at)))
              (local.set $third
                (i32x4.relaxed_dot_i8x16_i7x16_add_s
                  (v128.load $own offset=16 (local.get $asked))
                  (v128.and (local.get $block) (local.get $low))
                  (local.get $third)))
              (local.set $fourth
                (i32x4.relaxed_dot_i8x16_i7x16_add_s
                  (v128.load $own offset=48 (local.get $asked))
                  (v128.and (i16x8.shr_u (local.get $block) (i32.const 4)) (local.get $low))
                  (local.get $fourth)))
              (local.set $asked (i32.add (local.get $asked) (i32.const 64)))
              (local.set $at (i32.add (local.get $at) (i32.const 32)))
              (br_if $blocks (i32.lt_u (local.get $at) (local.get $end))))
            (local.set $first
              (i32x4.add
                (i32x4.add (local.get $first) (local.get $second))
                (i32x4.add (local.get $third) (local.get $fourth))))
            (local.set $score
              (i32.add
                (i32.mul (i32.load16_u $held (local.get $end)) (local.get $along))
                (i32.add
                  (i32.add (i32x4.extract_lane 0 (local.get $first)) (i32x4.extract_lane 1 (local.get $first)))
                  (i32.add (i32x4.extract_lane 2 (local.get $first)) (i32x4.extract_lane 3 (local.get $first))))))
            (if (i32.gt_s (local.get $score) (local.get $threshold))
              (then
                (i32.store $own (local.get $next) (local.get $row))
                (i32.store $own offset=4 (local.get $next) (local.get $score))
                (local.set $next (i32.add (local.get $next) (i32.const 8)))))
            (local.set $word (i32.and (local.get $word) (i32.sub (local.get $word) (i32.const 1))))
            (br $bits_)))
        (local.set $base (i32.add (local.get $base) (i32.const 32)))
        (local.set $bits (i32.add (local.get $bits) (i32.const 4)))
        (local.set $words (i32.sub (local.get $words) (i32.const 1)))
        (br $words_)))
    (i32.shr_u (i32.sub (local.get $next) (local.get $hits)) (i32.const 3))))
