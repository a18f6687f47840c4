/// The task that keeps a model up to date, until the model goes.
final class Following: Sendable {
  private let task: Task<Void, Never>

  init(_ body: @escaping @MainActor @Sendable () async -> Void) { task = Task { await body() } }

  /// Has a model take each element of a sequence until that ends, and tells the model why. Once `end` was called, the
  /// model is told nothing.
  convenience init<Model: AnyObject & Sendable, Elements: AsyncSequence & Sendable>(
    _ elements: Elements, by model: Model,
    take: @escaping @MainActor @Sendable (Model, Elements.Element) -> Void,
    ended: @escaping @MainActor @Sendable (Model, ObservedPhase<Elements.Failure>) -> Void
  ) where Elements.Element: Sendable {
    self.init { [weak model] in
      var elements = elements.makeAsyncIterator()
      var reason: Elements.Failure?
      do throws(Elements.Failure) {
        while let element = try await elements.next(isolation: MainActor.shared) {
          // What was buffered comes behind the cancellation.
          guard !Task.isCancelled, let model else { return }
          take(model, element)
        }
      } catch {
        reason = error
      }
      if !Task.isCancelled, let model { ended(model, .ended(reason)) }
    }
  }

  func end() { task.cancel() }

  deinit { task.cancel() }
}
