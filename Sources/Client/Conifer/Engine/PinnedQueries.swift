import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

/// The queries that the app has pinned, to which the engine listens without events from the first
/// connection on.
final class PinnedQueries {
  private enum State {
    /// It is listened to when there is a first connection.
    case waiting
    case listening(ListenerID)
    /// The server did not let this user listen to it.
    case refused
  }

  /// Whether the pins of earlier runs were read; they are read at the first connection.
  private enum EarlierPins {
    /// Pins that the app has ended since are not listened to, even when their end could not be
    /// stored.
    case unread(ended: Set<QueryTarget>)
    /// There was a connection, and they could not be read: the next one tries again.
    case unreadable(ended: Set<QueryTarget>)
    case read

    var ended: Set<QueryTarget> {
      switch self {
      case .unread(let ended), .unreadable(let ended): ended
      case .read: []
      }
    }

    mutating func end(_ target: QueryTarget) {
      switch self {
      case .unread(let ended): self = .unread(ended: ended.union([target]))
      case .unreadable(let ended): self = .unreadable(ended: ended.union([target]))
      case .read: break
      }
    }
  }

  private var pins: [QueryTarget: State] = [:]
  private var earlier = EarlierPins.unread(ended: [])
  private let storage: EngineStorage
  private let listening: Listening
  private let outbox: Outbox
  private let logger: Logger
  private let post: @Sendable (Step) -> Void

  init(
    _ storage: EngineStorage, _ listening: Listening, _ outbox: Outbox, _ logger: Logger,
    _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.storage = storage
    self.listening = listening
    self.outbox = outbox
    self.logger = logger
    self.post = post
  }

  /// The listeners of what is pinned.
  var listeners: [ListenerID] {
    pins.values.compactMap { if case .listening(let id) = $0 { id } else { nil } }
  }

  /// Pins a target, durably, and listens to it without events; or ends that.
  func set(_ target: QueryTarget, isPinned: Bool) {
    let what = isPinned ? "pinned" : "unpinned"
    guard let lane = storage.lane else {
      logger.error(
        "a place is not \(what)",
        metadata: ["target": "\(target)", "cause": "\(storage.error.message)"])
      return
    }
    let target = target.normalized
    let pin = Pin(tree: lane.tree, path: target.path, parameters: target.spec.identifier)
    let state = pins[target]
    if isPinned {
      switch state {
      case .waiting, .listening: return
      case .refused, nil: break
      }
    }
    outbox.addEdits([isPinned ? .pin(pin) : .unpin(pin)]) { [logger] result in
      guard case .failure(let error) = result else { return }
      logger.error(
        "a place is not \(what) durably", metadata: ["target": "\(target)", "cause": "\(error)"])
    }
    guard isPinned else {
      pins[target] = nil
      earlier.end(target)
      if case .listening(let id) = state { listening.stop(id) }
      return
    }
    switch earlier {
    case .unread: pins[target] = .waiting
    case .unreadable, .read: listen(target)
    }
  }

  /// Listens to what was pinned until there was a first connection: each pin in a step of its own, as
  /// it is read to tell the server what the client has.
  func connected() {
    if case .read = earlier { return }
    let stored = storage.read { (view, lane) throws(StoreError) in try view.pins(lane.tree) }
    let ended = earlier.ended
    earlier = stored == nil ? .unreadable(ended: ended) : .read
    for pin in stored ?? [] {
      do throws(TreeError) {
        let spec =
          pin.parameters == TrackedQuery.defaultParameters
          ? QuerySpec.default : try QuerySpec(json: Array(pin.parameters.utf8))
        let target = QueryTarget(pin.path, spec)
        if pins[target] == nil, !ended.contains(target) { pins[target] = .waiting }
      } catch {
        logger.error(
          "a pin is invalid", metadata: ["path": "\(pin.path)", "cause": "\(error)"])
      }
    }
    for case (let target, .waiting) in pins { post(.listenToPin(target)) }
  }

  /// Listens to a pin that has waited for the first connection, unless it was ended.
  func listenToWaiting(_ target: QueryTarget) {
    if case .waiting? = pins[target] { listen(target) }
  }

  /// The server does not let this user listen to pins: another one may, or this one later.
  func refused(_ ended: [ListenerID], _ error: DatabaseError) {
    for case (let target, .listening(let id)) in pins where ended.contains(id) {
      pins[target] = .refused
      logger.warning(
        "a pinned place is not downloaded",
        metadata: ["target": "\(target)", "cause": "\(error.message)"])
    }
  }

  /// Somebody is signed in: listens to the pins that were refused before.
  func signedIn() {
    for case (let target, .refused) in pins { listen(target) }
  }

  private func listen(_ target: QueryTarget) {
    pins[target] = .listening(listening.listenSilently(target))
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Pins a target, or ends that.
  func setPinned(_ isPinned: Bool, _ target: QueryTarget) {
    steps.post(.pin(target, isPinned: isPinned))
  }
}
