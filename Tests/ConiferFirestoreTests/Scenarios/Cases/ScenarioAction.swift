import ConiferDocument
import ConiferDocumentSync
import ConiferStorage
import ConiferWire
import Foundation

/// What a step of a case does.
enum ScenarioAction: Sendable {
  /// One thing that the server says on the stream of listens.
  struct WatchMessage: Sendable {
    let change: WatchChange
    /// The moment of a consistent snapshot.
    var version: ConiferDocument.Timestamp?
  }

  // MARK: The app

  /// Listens; the number that the target is to have, 0 when the listen is to fail.
  case listen(DocumentQuery, TargetID, ListenOptions)
  /// Ends the last listener of a query; the number of its target.
  case unlisten(DocumentQuery, TargetID)
  case write(Mutation)
  case waitForPendingWrites
  case addInSyncListener
  case removeInSyncListener
  case loadBundle([UInt8])
  case enableNetwork(Bool)
  case changeUser(String?)
  /// The client ends, and no other begins.
  case shutdown
  case clearPersistence
  case setIndexes([DocumentIndex])
  case restart
  case collectGarbage(threshold: Int)

  // MARK: The server

  case say([WatchMessage])
  /// From now on it says that of one of a target's listens, which are counted from 0 on.
  case speakOfListen(Int)
  case closeWatch(StatusError, reopens: Bool)
  case acknowledge(ConiferDocument.Timestamp)
  case refuse(StatusError, keepsInQueue: Bool)

  // MARK: The surroundings

  case runTimer(ScenarioTimer)
  case failStorage([StorageAction])
  case drainQueue
  /// What means something only to clients that share a store.
  case nothing
}

/// A timer that a case lets run out.
enum ScenarioTimer: String, Sendable {
  case all
  case onlineState = "online_state_timeout"
  case storageRetry = "async_queue_retry"
  case watchIdle = "listen_stream_idle"
  case writeIdle = "write_stream_idle"
  case watchBackoff = "listen_stream_connection_backoff"
  case writeBackoff = "write_stream_connection_backoff"
  // What the reference does now and then, and a client alone does not show.
  case clientMetadata = "client_metadata_refresh"
  case collection = "lru_garbage_collection"
  case indexing = "index_backfill"
}

extension ScenarioAction {
  private typealias R = ScenarioJSON

  /// The action that a step names, with what it is given.
  init(_ name: String, _ json: Any) throws {
    if let action = try Self.app(name, json) ?? Self.server(name, json) {
      self = action
      return
    }
    switch name {
    case "runTimer":
      guard let timer = ScenarioTimer(rawValue: try R.text(json)) else {
        throw R.wrong("a timer", json)
      }
      self = .runTimer(timer)
    case "failDatabase":
      self = .failStorage(
        try (json as? Bool == false ? [] : R.texts(json)).map { try StorageAction(reading: $0) })
    case "drainQueue": self = .drainQueue
    case "applyClientState":
      _ = try R.object(json, of: ["visibility", "primary"])
      self = .nothing
    default: throw ScenarioError("nobody knows the step \(name)")
    }
  }

  private static func app(_ name: String, _ json: Any) throws -> ScenarioAction? {
    switch name {
    case "userListen":
      let map = try R.object(json, of: ["targetId", "query", "options"])
      return .listen(
        try R.query(map["query"]), try R.target(map["targetId"]), try R.options(map["options"]))
    case "userUnlisten":
      let list = try R.list(json)
      return .unlisten(try R.query(list.last), try R.target(list.first))
    case "userSet":
      return .write(
        try .set(DocumentPath(try R.text(try R.list(json).first)), fields(json), in: R.database))
    case "userPatch":
      let data = try fields(json).map { (try ConiferDocument.FieldPath(dotted: $0.0), $0.1) }
      return .write(
        try .update(DocumentPath(try R.text(try R.list(json).first)), data, in: R.database))
    case "userDelete": return .write(try .delete(DocumentPath(try R.text(json))))
    case "waitForPendingWrites": return .waitForPendingWrites
    case "addSnapshotsInSyncListener": return .addInSyncListener
    case "removeSnapshotsInSyncListener": return .removeInSyncListener
    case "loadBundle": return .loadBundle(Array(try R.text(json).utf8))
    case "enableNetwork": return .enableNetwork(try R.flag(json))
    case "changeUser": return .changeUser(json is NSNull ? nil : try R.text(json))
    case "restart": return .restart
    case "shutdown": return .shutdown
    case "clearPersistence": return .clearPersistence
    case "setIndexConfiguration": return .setIndexes(try R.indexConfiguration(json).indexes)
    case "triggerLruGC": return .collectGarbage(threshold: try R.number(json))
    default: return nil
    }
  }

  private static func fields(_ json: Any) throws -> [(String, WriteValue)] {
    try R.fields(try R.list(json).last)
  }

  // MARK: The server

  private static func server(_ name: String, _ json: Any) throws -> ScenarioAction? {
    switch name {
    case "watchStreamClose":
      let map = try R.object(json, of: ["error", "runBackoffTimer"])
      return .closeWatch(
        try R.error(map["error"]),
        reopens: try map["runBackoffTimer"].map { try R.flag($0) } ?? true)
    case "writeAck":
      let map = try R.object(json, of: ["version", "keepInQueue"])
      if let keeps = map["keepInQueue"], try R.flag(keeps) {
        throw ScenarioError("only a client that shares its store keeps a write that was accepted")
      }
      return .acknowledge(try R.time(map["version"]))
    case "failWrite":
      let map = try R.object(json, of: ["error", "keepInQueue"])
      return .refuse(
        try R.error(map["error"]),
        keepsInQueue: try map["keepInQueue"].map { try R.flag($0) } ?? false)
    case "watchUsesTargetIndex": return .speakOfListen(try R.number(json))
    default: return try watch(name, json).map { .say($0) }
    }
  }

  private static func watch(_ name: String, _ json: Any) throws -> [WatchMessage]? {
    func one(_ change: WatchChange) -> [WatchMessage] { [WatchMessage(change: change)] }
    switch name {
    case "watchAck": return one(.targets(.added, try R.targets(json)))
    case "watchReset": return one(.targets(.reset, try R.targets(json)))
    case "watchCurrent":
      let list = try R.list(json)
      return one(
        .targets(.current, try R.targets(list.first), resumeToken: R.token(list.last)))
    case "watchRemove":
      let map = try R.object(json, of: ["targetIds", "cause"])
      let cause = try map["cause"].map { try R.error($0) }
      return one(
        .targets(cause.map { .rejected($0) } ?? .removed, try R.targets(map["targetIds"])))
    case "watchFilter":
      let map = try R.object(json, of: ["targetIds", "keys", "bloomFilter"])
      let targets = try R.targets(map["targetIds"])
      guard let target = targets.first, targets.count == 1 else {
        throw R.wrong("one target", json)
      }
      return one(
        .filter(
          target, count: try R.list(map["keys"]).count, try R.bloomFilter(map["bloomFilter"])))
    case "watchSnapshot":
      let map = try R.object(json, of: ["version", "targetIds", "resumeToken"])
      let targets = try R.targets(map["targetIds"])
      return [
        WatchMessage(
          change: .targets(.noChange, targets, resumeToken: R.token(map["resumeToken"])),
          version: targets.isEmpty ? try R.time(map["version"]) : nil)
      ]
    case "watchEntity":
      return try entities(
        try R.object(json, of: ["doc", "docs", "key", "targets", "removedTargets"]))
    default: return nil
    }
  }

  private static func entities(_ map: R.Object) throws -> [WatchMessage] {
    let (matching, leaving) = (
      try R.targets(map["targets"]), try R.targets(map["removedTargets"])
    )
    if let key = map["key"] {
      return [WatchMessage(change: .left(try DocumentPath(try R.text(key)), leaving))]
    }
    let documents = try map["doc"].map { [$0] } ?? R.list(map["docs"])
    return try documents.map {
      WatchMessage(
        change: .document(try R.document($0), matching: matching, leaving: leaving))
    }
  }
}
