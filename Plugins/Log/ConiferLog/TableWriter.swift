import ConiferKeyValue
import ConiferStorage

/// Writes a table, entry by entry in ascending order.
struct TableWriter {
  static let blockSize = 4096
  private static let chunk = 256 << 10

  private let file: any LogFile
  private var at = 0
  /// Bytes that are not in the file yet; they begin at `at`.
  private var pending: Bytes
  private var block = ByteWriter()
  private var blockFirst: Bytes = []
  private var last: Bytes = []
  private var index = Table.Index()
  private(set) var entries = 0
  private var tombstones = 0

  init(_ file: any LogFile, store: Bytes, number: UInt64) {
    self.file = file
    pending = FileHeader(kind: .table, store: store, number: number).bytes
  }

  mutating func add(_ key: UnsafeRawBufferPointer, _ slot: LentSlot) throws(FileFailure) {
    var shared = 0
    if block.count == 0 {
      blockFirst = Bytes(key)
    } else {
      let most = min(key.count, last.count)
      while shared < most, key[shared] == last[shared] { shared += 1 }
    }
    block.varint(shared)
    block.varint(key.count - shared)
    block.append(Bytes(key[shared...]))
    switch slot {
    case .gone:
      block.byte(0)
      tombstones += 1
    case .small(let value):
      block.byte(1)
      block.sized(Bytes(value))
    case .value(let pointer):
      block.byte(pointer.isQueue ? 3 : 2)
      block.varint(pointer.segment)
      block.varint(Int(pointer.offset))
      block.varint(Int(pointer.length))
      block.littleEndian(UInt64(pointer.checksum), bytes: 4)
    }
    entries += 1
    last.replaceSubrange(shared..., with: key[shared...])
    if block.count >= Self.blockSize { try endBlock() }
  }

  private mutating func endBlock() throws(FileFailure) {
    guard block.count > 0 else { return }
    let bytes = block.bytes
    index.blocks.append(
      .init(
        first: blockFirst, offset: at + pending.count, length: bytes.count,
        checksum: XXHash64.hash(bytes)))
    pending += bytes
    block = ByteWriter()
    if pending.count >= Self.chunk { try flush() }
  }

  private mutating func flush() throws(FileFailure) {
    try file.writeAll(pending, at: at)
    at += pending.count
    pending.removeAll(keepingCapacity: true)
  }

  /// Writes the rest and syncs.
  ///
  /// - Returns: the table's entry for the manifest, and the index of its blocks.
  mutating func finish(_ number: UInt64) throws(FileFailure) -> (Manifest.TableEntry, Table.Index) {
    try endBlock()
    index.last = last
    let bytes = index.bytes
    let entry = Manifest.TableEntry(
      number: number, indexOffset: at + pending.count, indexLength: bytes.count,
      indexSum: XXHash64.hash(bytes), entries: entries, tombstones: tombstones)
    pending += bytes
    try flush()
    try file.syncAll()
    return (entry, index)
  }
}
