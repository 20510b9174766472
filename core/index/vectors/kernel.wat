;; Scores codes of vectors.i4 against one query. The code of row r of a piece begins at $codes + r * $rowBytes of $held,
;; which threads share; all else lies in $own. The query has one signed byte a component, in the order of the
;; components. A score is the sum of query byte * half byte.
;;
;; The dot product is a relaxed instruction. Its result is the same on every machine here, because the second operand
;; lies between 0 and 15, and 2 * 127 * 15 does not saturate sixteen bits.
(module
  (import "codes" "memory" (memory $held 1 65536 shared))
  (memory $own (export "memory") 1)
  ;; V8 makes a constant anew for each use, in three instructions, and so the mask of a shift of bytes. A variable stays
  ;; in its register.
  (global $lowHalves (mut v128) (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
  ;; Scores each row whose bit is set. Writes the sum of the scores and the sum of their squares to $sums, as f64, and
  ;; appends (row, score) to $hits for each row whose score is above $threshold.
  ;; Returns the number of hits.
  (func (export "scan")
    (param $codes i32) (param $rowBytes i32) (param $query i32) (param $bits i32) (param $words i32)
    (param $threshold i32) (param $sums i32) (param $hits i32) (result i32)
    (local $word i32) (local $row i32) (local $at i32) (local $end i32) (local $of i32) (local $next i32)
    (local $halves v128) (local $score i32) (local $base i32) (local $value f64) (local $sum f64) (local $squares f64)
    (local $mask v128) (local $low v128) (local $high v128) (local $low2 v128) (local $high2 v128)
    (local.set $mask (global.get $lowHalves))
    (local.set $next (local.get $hits))
    (block $noWordLeft
      (loop $words_
        (br_if $noWordLeft (i32.eqz (local.get $words)))
        (local.set $word (i32.load $own (local.get $bits)))
        (block $noBitLeft
          (loop $bits_
            (br_if $noBitLeft (i32.eqz (local.get $word)))
            (local.set $row (i32.add (local.get $base) (i32.ctz (local.get $word))))
            (local.set $word (i32.and (local.get $word) (i32.sub (local.get $word) (i32.const 1))))
            (local.set $at (i32.add (local.get $codes) (i32.mul (local.get $row) (local.get $rowBytes))))
            (local.set $end (i32.add (local.get $at) (local.get $rowBytes)))
            (local.set $of (local.get $query))
            (local.set $low (v128.const i32x4 0 0 0 0))
            (local.set $high (v128.const i32x4 0 0 0 0))
            (local.set $low2 (v128.const i32x4 0 0 0 0))
            (local.set $high2 (v128.const i32x4 0 0 0 0))
            ;; Two blocks at a time have sums of their own, so that neither waits for the other; an odd one comes first.
            (if (i32.and (local.get $rowBytes) (i32.const 16))
              (then
                (local.set $halves (v128.load $held (local.get $at)))
                (local.set $low
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own (local.get $of))
                    (v128.and (local.get $halves) (local.get $mask))
                    (local.get $low)))
                (local.set $high
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own offset=16 (local.get $of))
                    (v128.and (i16x8.shr_u (local.get $halves) (i32.const 4)) (local.get $mask))
                    (local.get $high)))
                (local.set $of (i32.add (local.get $of) (i32.const 32)))
                (local.set $at (i32.add (local.get $at) (i32.const 16)))))
            (block $noBlockLeft
              (loop $blocks
                (br_if $noBlockLeft (i32.ge_u (local.get $at) (local.get $end)))
                (local.set $halves (v128.load $held (local.get $at)))
                (local.set $low
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own (local.get $of))
                    (v128.and (local.get $halves) (local.get $mask))
                    (local.get $low)))
                (local.set $high
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own offset=16 (local.get $of))
                    (v128.and (i16x8.shr_u (local.get $halves) (i32.const 4)) (local.get $mask))
                    (local.get $high)))
                (local.set $halves (v128.load $held offset=16 (local.get $at)))
                (local.set $low2
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own offset=32 (local.get $of))
                    (v128.and (local.get $halves) (local.get $mask))
                    (local.get $low2)))
                (local.set $high2
                  (i32x4.relaxed_dot_i8x16_i7x16_add_s
                    (v128.load $own offset=48 (local.get $of))
                    (v128.and (i16x8.shr_u (local.get $halves) (i32.const 4)) (local.get $mask))
                    (local.get $high2)))
                (local.set $of (i32.add (local.get $of) (i32.const 64)))
                (local.set $at (i32.add (local.get $at) (i32.const 32)))
                (br $blocks)))
            (local.set $low
              (i32x4.add
                (i32x4.add (local.get $low) (local.get $high))
                (i32x4.add (local.get $low2) (local.get $high2))))
            (local.set $score
              (i32.add
                (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
                (i32.add (i32x4.extract_lane 2 (local.get $low)) (i32x4.extract_lane 3 (local.get $low)))))
            (local.set $value (f64.convert_i32_s (local.get $score)))
            (local.set $sum (f64.add (local.get $sum) (local.get $value)))
            (local.set $squares (f64.add (local.get $squares) (f64.mul (local.get $value) (local.get $value))))
            (if (i32.gt_s (local.get $score) (local.get $threshold))
              (then
                (i32.store $own (local.get $next) (local.get $row))
                (i32.store $own offset=4 (local.get $next) (local.get $score))
                (local.set $next (i32.add (local.get $next) (i32.const 8)))))
            (br $bits_)))
        (local.set $base (i32.add (local.get $base) (i32.const 32)))
        (local.set $bits (i32.add (local.get $bits) (i32.const 4)))
        (local.set $words (i32.sub (local.get $words) (i32.const 1)))
        (br $words_)))
    (f64.store $own (local.get $sums) (local.get $sum))
    (f64.store $own offset=8 (local.get $sums) (local.get $squares))
    (i32.shr_u (i32.sub (local.get $next) (local.get $hits)) (i32.const 3))))
