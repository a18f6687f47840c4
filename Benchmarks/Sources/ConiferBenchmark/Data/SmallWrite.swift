package import ConiferStorage
package import ConiferTree

/// A write that an app makes: it is queued, and later acknowledged with what it changed.
package struct SmallWrite: Sendable {
  /// Who wrote; each has a queue of their own.
  package let lane: Int
  /// Its number in the lane, from 0.
  package let number: Int
  /// The message that it replaces.
  package let path: String
  /// The message's new content.
  package let node: Node

  package init(lane: Int, number: Int, rooms: Rooms) {
    self.lane = lane
    self.number = number
    path = "\(Rooms.path(number % rooms.count))/edited-\(lane)-\(number)"
    node = rooms.edited(number &+ lane &* 100_000)
  }

  /// As a backend queues it.
  package var content: WriteContent {
    let path = Path(path)
    return WriteContent(
      kind: .set, path: path, changes: [.init(path, node)],
      idempotencyID: Array("write-\(number)".utf8), time: 1_704_103_200_000 + Int64(number))
  }

  /// As one row holds it.
  package var record: [UInt8] { Self.record(content) }

  /// A queued write as text, the same for all engines.
  package static func record(_ content: WriteContent) -> [UInt8] {
    let id = String(decoding: content.idempotencyID, as: UTF8.self)
    let path = content.path.keys.map(\.string).joined(separator: "/")
    let node = content.changes.first?.node ?? .empty
    let record: Node = [
      "path": Node(.string(path)), "value": node, "id": Node(.string(id)),
      "time": Node(.integer(content.time)),
    ]
    return record.json()
  }
}
