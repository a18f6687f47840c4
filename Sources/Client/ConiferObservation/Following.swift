/// The task that keeps a model up to date, until the model goes.
final class Following: Sendable {
  private let task: Task<Void, Never>

  init(_ body: @escaping @MainActor @Sendable () async -> Void) { task = Task { await body() } }

  func end() { task.cancel() }

  deinit { task.cancel() }
}
