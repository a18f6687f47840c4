import ConiferSync
import ConiferTree

/// The open views of the server's data, and who is told what they show.
final class Views {
  /// What the views show; without a cache until storage is open.
  private(set) var tree = SyncTree(cache: nil)
  /// Where views are open.
  var paths = ViewPaths()
  private let registrations: Registrations
  private let outbox: Outbox
  private let post: @Sendable (Step) -> Void

  init(
    _ registrations: Registrations, _ outbox: Outbox, _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.registrations = registrations
    self.outbox = outbox
    self.post = post
  }

  /// Has views that open from now on begin with what is cached.
  func use(_ cache: any ServerCache) { tree = SyncTree(cache: cache) }

  /// Hands events to the listeners; those of a step stay in order.
  func raise(_ events: [SyncResult.Raised]) {
    for raised in events {
      guard let registration = registrations[raised.listener] else { continue }
      let event = raised.event
      guard registration.isOnce else {
        outbox.call { registration.raise(event) }
        continue
      }
      outbox.call { [registrations] in
        registration.raise(event)
        registrations.forget(registration.id)
      }
      post(.stop(raised.listener))
    }
  }

  func raise(_ result: SyncResult) { raise(result.events) }

  /// Ends a listener of the app with an error.
  func cancel(_ id: ListenerID, _ error: DatabaseError) {
    guard let registration = registrations.forget(id) else { return }
    outbox.call { registration.cancel(error) }
  }

  /// Ends all listeners of the app with an error.
  func cancelAll(_ error: DatabaseError) {
    for registration in registrations.sorted { cancel(registration.id, error) }
  }

  /// Whether a listener of the app has not ended.
  func isRegistered(_ id: ListenerID) -> Bool { registrations[id] != nil }
}
