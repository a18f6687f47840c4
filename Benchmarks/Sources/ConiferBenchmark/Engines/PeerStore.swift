package import CPeers

/// A raw engine in C.
package final class PeerStore: RowStore {
  // Unchecked: the C side takes its own locks.
  private struct Handle: @unchecked Sendable { let pointer: OpaquePointer }
  private let handle: Handle

  /// Opens a database in a directory that exists.
  package init(_ kind: peer_kind, _ directory: String, _ level: peer_durability) throws {
    var message = [CChar](repeating: 0, count: 256)
    guard let opened = peer_open(kind, directory, level, &message, message.count) else {
      let end = message.firstIndex(of: 0) ?? message.count
      throw RowError(
        String(decoding: message[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    handle = Handle(pointer: opened)
  }

  private var failure: RowError { RowError(String(cString: peer_error(handle.pointer))) }

  package func commit(_ edits: UnsafeRawBufferPointer) throws {
    let bytes = edits.bindMemory(to: UInt8.self)
    if !peer_commit(handle.pointer, bytes.baseAddress, bytes.count) { throw failure }
  }

  package func get(
    _ key: [UInt8], _ visit: peer_visit, _ context: UnsafeMutableRawPointer
  ) throws -> Bool {
    switch peer_get(handle.pointer, key, key.count, visit, context) {
    case 1: return true
    case 0: return false
    default: throw failure
    }
  }

  package func scan(
    _ from: [UInt8], _ to: [UInt8], backwards: Bool, _ visit: peer_visit,
    _ context: UnsafeMutableRawPointer
  ) throws {
    guard
      peer_scan(handle.pointer, from, from.count, to, to.count, backwards, visit, context)
    else { throw failure }
  }

  /// Lends the documents that a store of the kind `PEER_SQLITE_DOCUMENTS` finds.
  func ask(
    _ question: peer_question, _ text: String, _ number: Int64, limit: Int, _ visit: peer_visit,
    _ context: UnsafeMutableRawPointer
  ) throws {
    let text = Array(text.utf8)
    guard
      peer_ask(
        handle.pointer, question, text, text.count, number, Int64(limit), visit, context)
    else { throw failure }
  }

  package func compact() throws {
    if !peer_compact(handle.pointer) { throw failure }
  }

  package var liveBytes: Int? {
    let bytes = peer_live_bytes(handle.pointer)
    return bytes < 0 ? nil : Int(bytes)
  }

  package func close() { peer_close(handle.pointer) }
}
