/// The task that keeps a model up to date, until the model goes.
final class Following: Sendable {
  private let task: Task<Void, Never>

  init(_ body: @escaping @MainActor @Sendable () async -> Void) { task = Task { await body() } }

  /// Has a model take each element of a sequence until that ends, and tells the model why, if it failed.
  convenience init<Model: AnyObject & Sendable, Elements: AsyncSequence & Sendable>(
    _ elements: Elements, by model: Model,
    take: @escaping @MainActor @Sendable (Model, Elements.Element) -> Void,
    failed: @escaping @MainActor @Sendable (Model, Elements.Failure) -> Void
  ) where Elements.Element: Sendable {
    self.init { [weak model] in
      var elements = elements.makeAsyncIterator()
      do throws(Elements.Failure) {
        while let element = try await elements.next(isolation: MainActor.shared) {
          guard let model else { return }
          take(model, element)
        }
      } catch {
        if let model { failed(model, error) }
      }
    }
  }

  func end() { task.cancel() }

  deinit { task.cancel() }
}
