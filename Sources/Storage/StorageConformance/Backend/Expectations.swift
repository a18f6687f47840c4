internal import ConiferKeyValue

/// Requires that a call is refused with a code.
func expect<R>(
  _ code: StoreError.Code, _ what: String, _ body: () async throws(StoreError) -> R
) async throws {
  do throws(StoreError) {
    _ = try await body()
  } catch {
    if error.code == code { return }
    throw ConformanceFailure(.wrongError, "\(what) was refused with \(error), not with \(code)")
  }
  throw ConformanceFailure(.wrongError, "\(what) was not refused with \(code)")
}

/// Requires that two values are equal.
func requireEqual<V: Equatable>(_ found: V, _ expected: V, _ what: String) throws {
  try require(found == expected, "\(what) is \(found), not \(expected)")
}
