internal import ConiferKeyValue
internal import ConiferStorage

/// The newest meta page of a data file, read and checked before LMDB maps the file.
///
/// LMDB 0.9 trusts its meta pages: a file that is shorter than they say causes `SIGBUS`, one with a
/// flipped root a trap. The layout is the one of data format version 1 on 64-bit systems
/// (`MDB_page` and `MDB_meta` of LMDB 0.9).
struct LMDBMeta {
  /// Where one of the two trees begins.
  struct Tree {
    var flags: Int
    var depth: Int
    /// The root's page number, nil for an empty tree.
    var root: Int?
    /// How many keys it holds.
    var entries: Int
  }

  var pageSize: Int
  var free: Tree
  var main: Tree
  var lastPage: Int
  var transaction: UInt64

  /// The length of the file when every page up to the last has been written.
  var fullLength: Int { (lastPage + 1) * pageSize }

  private static let size = 152
  private static let header: Bytes = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0xDE, 0xC0, 0xEF, 0xBE,
  ]

  /// Reads and checks a data file.
  ///
  /// - Parameters:
  ///   - file: an open descriptor.
  ///   - length: the file's length.
  ///   - path: the store's directory, for messages.
  /// - Throws: `foreign` (not an LMDB file), `newerFormat`, `damaged`, `io`.
  static func read(_ file: Int32, length: Int, _ path: String) throws(StoreError) -> LMDBMeta {
    let first = try bytes(of: file, at: 0, limit: size, path)
    let known = min(first.count, header.count)
    guard first[..<known] == header[..<known] else {
      for size in [4096, 16384, 8192, 32768, 65536] {
        let second = try bytes(of: file, at: size, limit: header.count, path)
        if second.count == header.count, second[16...] == header[16...] {
          throw damaged(path, "its first meta page is not readable")
        }
      }
      throw StoreError(
        .foreign,
        "The file data.mdb in \(path) is not an LMDB file. Use another directory for the store.")
    }
    guard first.count == size else { throw damaged(path, "it was cut to \(length) bytes") }
    let pageSize = first.number(at: 40, bytes: 4)
    guard pageSize >= 512, pageSize <= 65536, pageSize & (pageSize - 1) == 0 else {
      throw damaged(path, "its page size is impossible")
    }
    let second = try bytes(of: file, at: pageSize, limit: size, path)
    guard second.count == size else { throw damaged(path, "it was cut to \(length) bytes") }
    let metas = [try parse(first, 0, pageSize, path), try parse(second, 1, pageSize, path)]
    // Commits alternate between the two pages, so their numbers differ by one.
    let a = metas[0].transaction
    let b = metas[1].transaction
    guard a == b ? a == 0 : max(a, b) - min(a, b) == 1 else {
      throw damaged(path, "its meta pages do not follow each other")
    }
    let newest = a >= b ? metas[0] : metas[1]
    try newest.checkRoot(newest.free, file, path)
    try newest.checkRoot(newest.main, file, path)
    return newest
  }

  /// Reads the meta page of one commit; nil when a later commit replaced it.
  ///
  /// - Throws: `damaged`, `foreign`, `newerFormat`, `io`.
  static func read(
    _ file: Int32, of transaction: UInt64, pageSize: Int, _ path: String
  ) throws(StoreError) -> LMDBMeta? {
    let index = Int(transaction & 1)
    let page = try bytes(of: file, at: index * pageSize, limit: size, path)
    guard page.count == size else { throw damaged(path, "it was cut within its meta pages") }
    let meta = try parse(page, index, pageSize, path)
    return meta.transaction == transaction ? meta : nil
  }

  /// The meta pages that are valid by themselves.
  ///
  /// - Throws: `io`.
  static func readable(_ file: Int32, _ path: String) throws(StoreError) -> [LMDBMeta] {
    for pageSize in [4096, 16384, 8192, 32768, 65536] {
      var metas: [LMDBMeta] = []
      for index in 0..<2 {
        let page = try bytes(of: file, at: index * pageSize, limit: size, path)
        guard page.count == size, let meta = try? parse(page, index, pageSize, path) else {
          continue
        }
        metas.append(meta)
      }
      if !metas.isEmpty { return metas }
    }
    return []
  }

  /// Whether the tree's root is a page of the right kind.
  ///
  /// - Throws: `io`.
  func hasReadableRoot(_ file: Int32, _ path: String) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try checkRoot(main, file, path)
      return true
    } catch {
      guard error.code == .damaged else { throw error }
      return false
    }
  }

  /// Reads a number of bytes; fewer only at the file's end.
  ///
  /// - Throws: `io`.
  static func bytes(
    of file: Int32, at offset: Int, limit: Int, _ path: String
  ) throws(StoreError) -> Bytes {
    guard let bytes = Platform.read(file, at: offset, limit: limit) else {
      throw Platform.error(System.lastError, "read the LMDB file in", path)
    }
    return bytes
  }

  /// A store error that says what is wrong with the file.
  static func damaged(_ path: String, _ what: String) -> StoreError {
    StoreError(
      .damaged,
      "The LMDB file in \(path) is damaged: \(what). Set the directory aside and start a new "
        + "store, or restore a copy.")
  }

  private static func parse(
    _ page: Bytes, _ index: Int, _ pageSize: Int, _ path: String
  ) throws(StoreError) -> LMDBMeta {
    guard page.number(at: 0, bytes: 8) == index, page.number(at: 10, bytes: 2) == 8,
      page[16..<20] == header[16..<20]
    else { throw damaged(path, "meta page \(index) is not readable") }
    let version = page.number(at: 20, bytes: 4)
    guard version <= 1 else {
      throw StoreError(
        .newerFormat,
        "The LMDB file in \(path) has data format \(version); this version reads 1. Open it with "
          + "the newer LMDB.")
    }
    let meta = LMDBMeta(
      pageSize: page.number(at: 40, bytes: 4), free: tree(page, 40), main: tree(page, 88),
      lastPage: page.number(at: 136, bytes: 8),
      transaction: UInt64(page.number(at: 144, bytes: 8)))
    // 8 stands for integer keys; the store sets no other flag that lasts.
    guard version == 1, meta.pageSize == pageSize, meta.free.flags == 8,
      meta.lastPage >= 1, meta.lastPage < 1 << 47,
      meta.transaction == 0 || meta.transaction & 1 == UInt64(index)
    else { throw damaged(path, "meta page \(index) is not valid") }
    guard meta.main.flags == 0 else {
      throw StoreError(
        .foreign,
        "The LMDB file in \(path) has a main tree of another kind, so it is not a store of "
          + "Conifer. Use another directory.")
    }
    return meta
  }

  private static func tree(_ page: Bytes, _ at: Int) -> Tree {
    // The root of an empty tree is all ones, which `number` reads as `Int.max`.
    let root = page.number(at: at + 40, bytes: 8)
    let isEmpty = page[(at + 40)..<(at + 48)].allSatisfy { $0 == 0xFF }
    return Tree(
      flags: page.number(at: at + 4, bytes: 2), depth: page.number(at: at + 6, bytes: 2),
      root: isEmpty ? nil : root, entries: page.number(at: at + 32, bytes: 8))
  }

  /// Checks that a tree's root lies within the file and is a page of the right kind.
  private func checkRoot(_ tree: Tree, _ file: Int32, _ path: String) throws(StoreError) {
    guard let root = tree.root else {
      guard tree.depth == 0 else { throw Self.damaged(path, "an empty tree has levels") }
      return
    }
    guard root >= 2, root <= lastPage, tree.depth >= 1, tree.depth < 32 else {
      throw Self.damaged(path, "a tree's root lies outside")
    }
    let page = try Self.bytes(of: file, at: root * pageSize, limit: 16, path)
    guard page.count == 16 else {
      throw Self.damaged(path, "it was cut before page \(root)")
    }
    guard page.number(at: 0, bytes: 8) == root,
      page.number(at: 10, bytes: 2) == (tree.depth == 1 ? 2 : 1)
    else { throw Self.damaged(path, "page \(root) is not the root that it should be") }
  }
}

extension Array where Element == UInt8 {
  /// A little-endian number of some bytes; `Int.max` when it does not fit or lies outside.
  func number(at offset: Int, bytes: Int) -> Int {
    guard offset >= 0, offset + bytes <= count else { return .max }
    var result: UInt64 = 0
    for i in 0..<bytes { result |= UInt64(self[offset + i]) << UInt64(8 * i) }
    return Int(exactly: result) ?? .max
  }
}
