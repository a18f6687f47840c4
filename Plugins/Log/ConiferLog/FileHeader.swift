import ConiferKeyValue
import ConiferStorage

/// The first 64 bytes of a file: its kind and its store.
struct FileHeader: Equatable {
  enum Kind: UInt8 {
    case manifest = 1
    case segment = 2
    case table = 3
  }

  static let size = 64
  static let format: UInt16 = 1
  private static let magic = Bytes("CNFRLOG\n".utf8)

  let kind: Kind
  /// The class of a segment's values; see ``SegmentClass``.
  var detail: UInt8 = 0
  let store: Bytes
  let number: UInt64

  /// The header's bytes.
  var bytes: Bytes {
    var writer = ByteWriter(Self.magic)
    writer.littleEndian(UInt64(Self.format), bytes: 2)
    writer.byte(kind.rawValue)
    writer.byte(detail)
    writer.littleEndian(0, bytes: 4)
    writer.append(store)
    writer.littleEndian(number)
    writer.append(Bytes(repeating: 0, count: 16))
    writer.littleEndian(XXHash64.hash(writer.bytes))
    return writer.bytes
  }
}

extension FileHeader {
  /// Reads a header; the path is for messages.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`.
  init(_ bytes: Bytes, _ path: String) throws(StoreError) {
    guard bytes.count >= Self.size else {
      throw StoreError.damagedFile(path, "it ends within its header")
    }
    guard bytes.starts(with: Self.magic) else {
      throw StoreError(
        .foreign, "\(path) is not a file of a log store. Use another directory.")
    }
    var reader = ByteReader(bytes, 8..<Self.size)
    guard let format = reader.littleEndian(bytes: 2), let kind = reader.byte(),
      let detail = reader.byte(), reader.skip(4) != nil, let store = reader.take(16),
      let number = reader.littleEndian(), reader.skip(16) != nil, let sum = reader.littleEndian(),
      sum == XXHash64.hash(Bytes(bytes[..<56]))
    else { throw StoreError.damagedFile(path, "its header has a wrong checksum") }
    guard format == UInt64(Self.format) else {
      throw StoreError(
        .newerFormat,
        "\(path) has format \(format); this version of Conifer knows \(Self.format). "
          + "Update the app that opens it.")
    }
    guard let kind = Kind(rawValue: kind) else {
      throw StoreError.damagedFile(path, "its header names no known kind")
    }
    self.init(kind: kind, detail: detail, store: store, number: number)
  }

  /// Reads the header of an open file and compares it with the expected one.
  ///
  /// - Throws: `foreign` (also for a file of another store), `newerFormat`, `damaged`, `io`.
  static func check(
    _ file: any LogFile, _ path: String, _ kind: Kind, store: Bytes, number: UInt64
  ) throws(StoreError) {
    let found = try FileHeader(try file.contents(path, at: 0, count: size), path)
    guard found.store == store else {
      throw StoreError(
        .foreign,
        "\(path) belongs to another log store. Put back the file that was there, or this one where "
          + "it came from.")
    }
    guard found.kind == kind, found.number == number else {
      throw StoreError.damagedFile(path, "it is another file of this store under a wrong name")
    }
  }
}

extension LogFile {
  /// The length of a file in bytes.
  ///
  /// - Throws: `io`.
  func size(_ path: String) throws(StoreError) -> Int {
    do throws(FileFailure) {
      return try length()
    } catch { throw error.error("look at", path) }
  }

  /// Bytes of a file, fewer only at its end.
  ///
  /// - Throws: `io`, `denied`.
  func contents(_ path: String, at offset: Int, count: Int) throws(StoreError) -> Bytes {
    do throws(FileFailure) {
      return try bytes(at: offset, count: count)
    } catch { throw error.error("read", path) }
  }
}

extension StoreError {
  /// Stored bytes of a file are not what was written.
  static func damagedFile(
    _ path: String, _ what: String, place: Place? = nil, found: Bytes? = nil
  ) -> StoreError {
    StoreError(
      .damaged,
      "\(path) is damaged: \(what). Put back a copy of the whole directory, or move it away and "
        + "begin anew; nothing was removed.", place: place, found: found)
  }

  static var storeClosed: StoreError {
    StoreError(.closed, "The log store was closed; open it again.")
  }

  static var storeSuspended: StoreError {
    StoreError(.suspended, "The log store is suspended; call resume() first.")
  }

  static var viewClosed: StoreError {
    StoreError(.closed, "The view or its store was closed; take a new view.")
  }
}
