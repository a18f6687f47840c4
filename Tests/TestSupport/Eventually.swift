/// What a test waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
  package let description: String
}

/// Returns when something holds.
///
/// The deadline is so late that only what hangs reaches it, on a busy machine too.
///
/// - Parameter failure: what is wrong when it never holds, as a sentence.
/// - Throws: ``NeverHappened`` at the deadline, and what the condition throws.
package func eventually(
  _ failure: String, isolation: isolated (any Actor)? = #isolation,
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(300)
  while try await !condition() {
    guard ContinuousClock.now < deadline else {
      throw NeverHappened(description: "Waited for five minutes: \(failure)")
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}
