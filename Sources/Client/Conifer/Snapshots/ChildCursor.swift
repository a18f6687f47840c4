import Synchronization

/// How far a collection of children was read one by one, for all copies of it, as an enumerator of the Apple
/// SDK is one object.
final class ChildCursor: Sendable {
  private let position = Atomic(0)

  /// The next child of the collection; nil after the last one.
  func next<Children: RandomAccessCollection>(of children: Children) -> Children.Element?
  where Children.Index == Int {
    let next = position.wrappingAdd(1, ordering: .relaxed).oldValue
    return next < children.endIndex ? children[next] : nil
  }
}
