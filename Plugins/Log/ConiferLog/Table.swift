import ConiferKeyValue
import ConiferStorage
import Synchronization

/// A sorted, immutable part of the index on disk.
///
/// The index of its blocks is read when a key is first looked up.
final class Table: Sendable {
  /// The positions and first keys of the blocks.
  struct Index: Sendable {
    struct Entry: Sendable {
      let first: Bytes
      let offset: Int
      let length: Int
      let checksum: UInt64
    }
    var blocks: [Entry] = []
    var last: Bytes = []

    /// The first key after all keys that a block may contain.
    func end(of block: Int) -> Bytes {
      block + 1 < blocks.count ? blocks[block + 1].first : last + [0]
    }

    /// The last block that begins at or before a key.
    func block(of key: Bytes) -> Int? {
      var low = 0
      var high = blocks.count
      while low < high {
        let middle = (low + high) / 2
        if compareBytes(blocks[middle].first, key) <= 0 { low = middle + 1 } else { high = middle }
      }
      return low > 0 ? low - 1 : nil
    }
  }

  let entry: Manifest.TableEntry
  let path: String
  private let file: any LogFile
  private let cache: BlockCache
  private let losses: Losses
  private let loaded: Mutex<Index?>

  init(
    _ entry: Manifest.TableEntry, _ path: String, _ file: any LogFile, _ cache: BlockCache,
    _ losses: Losses, index: Index? = nil
  ) {
    self.entry = entry
    self.path = path
    self.file = file
    self.cache = cache
    self.losses = losses
    loaded = Mutex(index)
  }

  /// The places of the blocks.
  ///
  /// - Throws: `damaged`, `io`.
  func index() throws(StoreError) -> Index {
    try loaded.withLock { (loaded: inout Index?) throws(StoreError) -> Index in
      if let loaded { return loaded }
      let index: Index
      do throws(StoreError) {
        index = try freshIndex()
      } catch {
        if error.code == .damaged {
          losses.register(
            Losses.Loss(
              table: entry.number, block: nil, low: [], high: nil, path: path,
              offset: entry.indexOffset, length: entry.indexLength))
        }
        throw error
      }
      loaded = index
      return index
    }
  }

  /// Checks the file's header again.
  ///
  /// - Throws: `damaged`, `foreign`, `newerFormat`, `io`.
  func checkHeader(_ store: Bytes) throws(StoreError) {
    try FileHeader.check(file, path, .table, store: store, number: entry.number)
  }

  /// Reads the positions of the blocks from the file again.
  ///
  /// - Throws: `damaged`, `io`.
  func freshIndex() throws(StoreError) -> Index {
    let bytes = try file.contents(path, at: entry.indexOffset, count: entry.indexLength)
    guard bytes.count == entry.indexLength, XXHash64.hash(bytes) == entry.indexSum,
      let index = Index(bytes)
    else { throw StoreError.damagedFile(path, "its list of blocks has a wrong checksum") }
    return index
  }

  /// A block by its number.
  ///
  /// - Throws: `damaged`, `io`.
  func block(_ number: Int, _ index: Index) throws(StoreError) -> Block {
    let place = BlockCache.Place(table: entry.number, block: number)
    if let block = cache[place] { return block }
    let known = index.blocks[number]
    guard let block = try freshBlock(known) else {
      losses.register(
        Losses.Loss(
          table: entry.number, block: number, low: known.first, high: index.end(of: number),
          path: path, offset: known.offset, length: known.length))
      throw StoreError.damagedFile(path, "its block at byte \(known.offset) has a wrong checksum")
    }
    cache.add(place, block)
    return block
  }

  /// Reads a block from the file, without the cache; nil when it is damaged.
  ///
  /// - Throws: `io`.
  func freshBlock(_ known: Index.Entry) throws(StoreError) -> Block? {
    let bytes = try file.contents(path, at: known.offset, count: known.length)
    guard bytes.count == known.length, XXHash64.hash(bytes) == known.checksum else { return nil }
    return Block(bytes)
  }

  /// The table's entry of a key; nil when there is none.
  ///
  /// - Throws: `damaged`, `io`.
  func find(_ key: Bytes) throws(StoreError) -> Slot? {
    let index = try index()
    guard let number = index.block(of: key), compareBytes(key, index.last) <= 0 else { return nil }
    let block = try block(number, index)
    let (at, isFound) = block.search(key)
    return isFound ? block.slot(at) : nil
  }
}

extension Table.Index {
  init?(_ bytes: Bytes) {
    var reader = ByteReader(bytes)
    guard let count = reader.int(), count <= bytes.count else { return nil }
    blocks.reserveCapacity(count)
    for _ in 0..<count {
      guard let first = reader.sized(), let offset = reader.int(), let length = reader.int(),
        let checksum = reader.littleEndian()
      else { return nil }
      blocks.append(Entry(first: first, offset: offset, length: length, checksum: checksum))
    }
    guard let last = reader.sized(), reader.isAtEnd else { return nil }
    self.last = last
  }

  var bytes: Bytes {
    var writer = ByteWriter()
    writer.varint(blocks.count)
    for block in blocks {
      writer.sized(block.first)
      writer.varint(block.offset)
      writer.varint(block.length)
      writer.littleEndian(block.checksum)
    }
    writer.sized(last)
    return writer.bytes
  }
}
