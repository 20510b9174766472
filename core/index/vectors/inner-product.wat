;; The inner product of a row of float32 with a query of float64, with the bits of `innerProductAt`: each component is
;; multiplied and added in double precision, every fourth component to the same of four sums.
(module
  (memory (export "memory") 1)

  ;; $query: one float64 for each component of whole groups of four; $bytes: those of the row. A row whose number of
  ;; components is no multiple of four is read beyond its end, where the query has zeros.
  (func (export "product") (param $row i32) (param $bytes i32) (param $query i32) (result f64)
    (local $end i32) (local $four v128) (local $first v128) (local $last v128)
    (local.set $end (i32.add (local.get $row) (local.get $bytes)))
    (loop $fours
      (local.set $four (v128.load (local.get $row)))
      (local.set $first
        (f64x2.add
          (local.get $first)
          (f64x2.mul (f64x2.promote_low_f32x4 (local.get $four)) (v128.load (local.get $query)))))
      (local.set $last
        (f64x2.add
          (local.get $last)
          (f64x2.mul
            (f64x2.promote_low_f32x4
              (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $four) (local.get $four)))
            (v128.load offset=16 (local.get $query)))))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (local.set $query (i32.add (local.get $query) (i32.const 32)))
      (br_if $fours (i32.lt_u (local.get $row) (local.get $end))))
    (f64.add
      (f64.add (f64x2.extract_lane 0 (local.get $first)) (f64x2.extract_lane 1 (local.get $first)))
      (f64.add (f64x2.extract_lane 0 (local.get $last)) (f64x2.extract_lane 1 (local.get $last))))))
