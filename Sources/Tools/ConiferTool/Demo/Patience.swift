/// How long the demos wait for what must come: longer than a busy machine takes, so that only what hangs fails.
enum Patience {
  static let limit = Duration.seconds(600)

  /// Waits for something; what does not come within the limit is left to itself.
  ///
  /// - Parameter what: what must come, in words.
  /// - Throws: what the work throws, and `Failure` with the status `disproved` when it does not end.
  static func wait<Found: Sendable>(
    for what: String, _ work: @escaping @Sendable () async throws -> Found
  ) async throws -> Found {
    let (ends, end) = AsyncStream.makeStream(of: Result<Found, any Error>.self)
    let working = Task {
      do { end.yield(.success(try await work())) } catch { end.yield(.failure(error)) }
    }
    let watching = Task {
      try await Task.sleep(for: limit)
      end.yield(
        .failure(Failure("disproved", .disproved, "For \(limit) the demo waited for \(what).")))
    }
    defer {
      working.cancel()
      watching.cancel()
    }
    for await first in ends { return try first.get() }
    throw CancellationError()
  }
}
