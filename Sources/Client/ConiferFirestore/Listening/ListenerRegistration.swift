import ConiferDocumentSync
import Synchronization

/// The handle that removes a listener.
public protocol ListenerRegistration: AnyObject, Sendable {
  /// Ends the listener: it is told nothing more. May be called again, on any thread.
  func remove()
}

/// A listener of an engine. It goes on when this is forgotten.
final class ListenerHandle: ListenerRegistration {
  let id: ListenerID
  private let firestore: Firestore
  private let hasEnded = Atomic(false)

  init(_ firestore: Firestore) {
    self.firestore = firestore
    id = firestore.nextListener()
  }

  /// Whether it was not removed.
  var isOn: Bool { !hasEnded.load(ordering: .acquiring) }

  func remove() {
    guard !hasEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    // After the end of the database there is nothing to end.
    if let engine = try? firestore.engine() { engine.unlisten(id) }
  }
}
