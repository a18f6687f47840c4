import ConiferKeyValue
import ConiferStorage

/// The valid files of a directory, and where the replay of the journal begins.
struct Manifest: Equatable {
  struct SegmentEntry: Equatable {
    var number: UInt64
    var kind: SegmentClass
    /// The valid length of the file; of the active segment, up to where it was folded.
    var length: Int
    var live: Int
  }

  struct TableEntry: Equatable {
    var number: UInt64
    var indexOffset: Int
    var indexLength: Int
    var indexSum: UInt64
    var entries: Int
    var tombstones: Int

    var length: Int { indexOffset + indexLength }

    /// The approximate live bytes: the entry of a removed key is dead, and so is its entry in an
    /// older table.
    var live: Int {
      guard entries > 0 else { return length }
      return max(0, length - 2 * tombstones * (length / entries))
    }
  }

  static let pageSize = 4096

  var store: Bytes
  /// How many manifests came before this one.
  var generation: UInt64 = 0
  var nextNumber: UInt64 = 1
  var sequence: UInt64 = 1
  /// The checksum of the frame before the replayed ones.
  var previous: UInt64 = 0
  /// The segment that commits append to, 0 for none.
  var active: UInt64 = 0
  /// From where frames of the active segment are replayed.
  var position = 0
  var segments: [SegmentEntry] = []
  var tables: [TableEntry] = []
}

extension Manifest {
  /// The file's bytes: the content twice, in different sectors.
  var bytes: Bytes {
    var body = ByteWriter()
    body.varint(nextNumber)
    body.varint(sequence)
    body.littleEndian(previous)
    body.varint(active)
    body.varint(position)
    body.varint(segments.count)
    for segment in segments {
      body.varint(segment.number)
      body.byte(segment.kind.rawValue)
      body.varint(segment.length)
      body.varint(segment.live)
    }
    body.varint(tables.count)
    for table in tables {
      body.varint(table.number)
      body.varint(table.indexOffset)
      body.varint(table.indexLength)
      body.littleEndian(table.indexSum)
      body.varint(table.entries)
      body.varint(table.tombstones)
    }
    var copy = ByteWriter(FileHeader(kind: .manifest, store: store, number: generation).bytes)
    copy.littleEndian(UInt64(body.count), bytes: 4)
    copy.append(body.bytes)
    copy.littleEndian(XXHash64.hash(copy.bytes))
    let gap = (Self.pageSize - copy.count % Self.pageSize) % Self.pageSize
    return copy.bytes + Bytes(repeating: 0, count: gap) + copy.bytes
  }

  /// Reads a manifest file.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`.
  init(_ bytes: Bytes, _ path: String) throws(StoreError) {
    var first: StoreError?
    var at = 0
    repeat {
      do throws(StoreError) {
        self = try Self.copy(Bytes(bytes[at...]), path)
        return
      } catch {
        if error.code == .newerFormat { throw error }
        if first == nil { first = error }
      }
      at += Self.pageSize
    } while at < bytes.count
    throw first ?? StoreError.damagedFile(path, "it is empty")
  }

  private static func copy(_ bytes: Bytes, _ path: String) throws(StoreError) -> Manifest {
    let header = try FileHeader(bytes, path)
    let wrong = StoreError.damagedFile(path, "its content has a wrong checksum")
    var reader = ByteReader(bytes, from: FileHeader.size)
    guard header.kind == .manifest, let count = reader.littleEndian(bytes: 4),
      let range = reader.skip(Int(count)), let sum = reader.littleEndian(),
      sum == XXHash64.hash(Bytes(bytes[..<range.upperBound])),
      let manifest = Manifest(ByteReader(bytes, range), header)
    else { throw wrong }
    return manifest
  }

  private init?(_ body: ByteReader, _ header: FileHeader) {
    var body = body
    store = header.store
    generation = header.number
    guard let nextNumber = body.varint(), let sequence = body.varint(),
      let previous = body.littleEndian(), let active = body.varint(), let position = body.int(),
      let segmentCount = body.int(), segmentCount <= body.remaining
    else { return nil }
    (self.nextNumber, self.sequence, self.previous) = (nextNumber, sequence, previous)
    (self.active, self.position) = (active, position)
    for _ in 0..<segmentCount {
      guard let number = body.varint(), let kind = body.byte().flatMap(SegmentClass.init),
        let length = body.int(), let live = body.int()
      else { return nil }
      segments.append(SegmentEntry(number: number, kind: kind, length: length, live: live))
    }
    guard let tableCount = body.int(), tableCount <= body.remaining else { return nil }
    for _ in 0..<tableCount {
      guard let number = body.varint(), let offset = body.int(), let length = body.int(),
        let sum = body.littleEndian(), let entries = body.int(), let tombstones = body.int()
      else { return nil }
      tables.append(
        TableEntry(
          number: number, indexOffset: offset, indexLength: length, indexSum: sum,
          entries: entries, tombstones: tombstones))
    }
    guard body.isAtEnd else { return nil }
  }
}
