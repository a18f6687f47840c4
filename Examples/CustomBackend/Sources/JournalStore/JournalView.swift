import ConiferKeyValue
import Synchronization

/// Whether a store is open; each opening has its own, which its views share.
final class Gate: Sendable {
  let isOpen = Atomic(true)
}

/// A frozen view: the map as it was. Later commits change copies of the chunks that they touch.
final class JournalView: OrderedView {
  private let rows: SortedRows
  private let store: Gate
  private let isClosed = Atomic(false)

  init(_ rows: SortedRows, _ store: Gate) {
    self.rows = rows
    self.store = store
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { isClosed.store(true, ordering: .releasing) }

  private func requireOpen() throws(StoreError) {
    guard store.isOpen.load(ordering: .acquiring), !isClosed.load(ordering: .acquiring) else {
      throw StoreError(.closed, "The view or its store was closed. Take a new view.")
    }
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    try requireOpen()
    return rows.value([space.id] + key).map { read($0.span.bytes) }
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    try requireOpen()
    let ascends: Bool
    var target: Bytes
    switch origin {
    case .atOrAfter(let key): (ascends, target) = (true, [space.id] + key)
    case .atOrBefore(let key): (ascends, target) = (false, [space.id] + key)
    }
    var place = seek(target, ascends)
    while let (chunk, row) = place {
      let found = rows.chunks[chunk][row]
      guard found.key[0] == space.id else { return }
      place = ascends ? after(chunk, row) : before(chunk, row)
      switch visit(found.key.span.bytes.extracting(droppingFirst: 1), found.value.span.bytes) {
      case .stop: return
      case .next: break
      case .jump(let key):
        target = [space.id] + key
        // A target behind the current key means `next`.
        if ascends ? bytesPrecede(found.key, target) : bytesPrecede(target, found.key) {
          place = seek(target, ascends)
        }
      }
    }
  }

  private func seek(_ key: Bytes, _ ascends: Bool) -> (Int, Int)? {
    let (chunk, row) = rows.place(of: key)
    let isThere = chunk < rows.chunks.count
    if ascends { return isThere ? (chunk, row) : nil }
    if isThere, rows.chunks[chunk][row].key == key { return (chunk, row) }
    return before(chunk, row)
  }

  private func after(_ chunk: Int, _ row: Int) -> (Int, Int)? {
    if row + 1 < rows.chunks[chunk].count { return (chunk, row + 1) }
    return chunk + 1 < rows.chunks.count ? (chunk + 1, 0) : nil
  }

  private func before(_ chunk: Int, _ row: Int) -> (Int, Int)? {
    if row > 0 { return (chunk, row - 1) }
    return chunk > 0 ? (chunk - 1, rows.chunks[chunk - 1].count - 1) : nil
  }
}
