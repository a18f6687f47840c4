/// A configuration's source of random numbers, as the standard library takes one.
struct RandomSource: RandomNumberGenerator {
  let next64: @Sendable () -> UInt64

  func next() -> UInt64 { next64() }
}
