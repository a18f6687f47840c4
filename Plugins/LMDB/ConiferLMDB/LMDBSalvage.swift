package import ConiferKeyValue
internal import ConiferStorage

/// Reads what can be read of a damaged data file by `pread`, without LMDB and without its map.
///
/// Invalid pages are left out with the pages below them; an I/O error ends the salvage. Leaf pages
/// that are neither referenced nor free are read too: they were below a lost page.
package struct LMDBSalvage {
  private let file: Int32
  private let meta: LMDBMeta
  private let pages: Int
  private let name: String
  private let row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void
  private let lost: (StoreFinding) -> Void
  private var reached: Set<Int> = []
  private var free: Set<Int> = []
  private var isFreeKnown = true
  private var losses = 0
  /// The number of pages of large values that may still be read. A sound file references each once;
  /// a forged one with many references would take for ever.
  private var largePages: Int

  /// Reads a store's directory; nothing in it is changed or locked.
  ///
  /// - Parameters:
  ///   - row: gets each row's stored key (the space's number, then the key) and its value, in no
  ///     order; the last one of a key counts.
  ///   - lost: gets what could not be read.
  /// - Throws: `damaged` when the file is missing or no meta page can be read, `io`, `denied`, what `row` throws.
  package static func read(
    _ directory: String, row: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void,
    lost: (StoreFinding) -> Void
  ) throws(StoreError) {
    let name = directory + "/data.mdb"
    guard !Directory.isMissing(name) else { throw LMDBMeta.damaged(directory, "it is missing") }
    guard let file = System.open(name) else {
      throw Platform.error(System.lastError, "open the LMDB file", name)
    }
    defer { Platform.close(file) }
    guard case .success(let length) = System.length(name) else {
      throw Platform.error(System.lastError, "measure", name)
    }
    let metas = try LMDBMeta.readable(file, directory).sorted {
      $0.transaction > $1.transaction
    }
    guard let first = metas.first else {
      throw LMDBMeta.damaged(directory, "neither of its meta pages can be read")
    }
    // The older commit's pages may have been overwritten, so it is used only when the newer one is
    // lost.
    var usable = first
    for meta in metas where try meta.hasReadableRoot(file, directory) {
      usable = meta
      break
    }
    if metas.count < 2 || usable.transaction != first.transaction {
      lost(
        StoreFinding(
          file: name, offset: 0, bytes: 2 * first.pageSize,
          words: "a meta page cannot be used; the store may be one commit behind"))
    }
    try withoutActuallyEscaping(row) { (row) throws(StoreError) in
      try withoutActuallyEscaping(lost) { (lost) throws(StoreError) in
        var salvage = LMDBSalvage(
          file: file, meta: usable, pages: length / usable.pageSize, name: name, row: row,
          lost: lost)
        try salvage.run()
      }
    }
  }

  private init(
    file: Int32, meta: LMDBMeta, pages: Int, name: String,
    row: @escaping (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void,
    lost: @escaping (StoreFinding) -> Void
  ) {
    (self.file, self.meta, self.pages) = (file, meta, pages)
    (self.name, self.row, self.lost) = (name, row, lost)
    largePages = 4 * pages
  }

  private mutating func run() throws(StoreError) {
    if let root = meta.free.root { try visit(root, meta.free.depth, isMain: false) }
    isFreeKnown = losses == 0
    if let root = meta.main.root { try visit(root, meta.main.depth, isMain: true) }
    guard losses > 0, isFreeKnown else { return }
    for page in 2..<max(2, min(pages, meta.lastPage + 1))
    where !reached.contains(page) && !free.contains(page) {
      guard let bytes = try read(page), bytes.number(at: 10, bytes: 2) == 2 else { continue }
      try leaf(bytes, page, isMain: true)
    }
  }

  /// A page; nil when it lies outside of the file, or is another one.
  private func read(_ page: Int) throws(StoreError) -> Bytes? {
    guard page >= 2, page < pages else { return nil }
    let bytes = try LMDBMeta.bytes(
      of: file, at: page * meta.pageSize, limit: meta.pageSize, name)
    return bytes.count == meta.pageSize && bytes.number(at: 0, bytes: 8) == page ? bytes : nil
  }

  private mutating func lose(_ page: Int, _ words: String) {
    losses += 1
    let isInside = page >= 0 && page < pages
    lost(
      StoreFinding(
        file: name, offset: isInside ? page * meta.pageSize : 0, bytes: meta.pageSize,
        words: words))
  }

  private mutating func visit(_ page: Int, _ depth: Int, isMain: Bool) throws(StoreError) {
    guard depth > 0, depth < 32, reached.insert(page).inserted, let bytes = try read(page),
      bytes.number(at: 10, bytes: 2) == (depth == 1 ? 2 : 1)
    else { return lose(page, "page \(page) cannot be read") }
    if depth == 1 { return try leaf(bytes, page, isMain: isMain) }
    for node in nodes(bytes, page) {
      let child = bytes.number(at: node, bytes: 4) | bytes.number(at: node + 4, bytes: 2) << 32
      try visit(child, depth - 1, isMain: isMain)
    }
  }

  /// The nodes of a page that lie inside of it.
  private mutating func nodes(_ bytes: Bytes, _ page: Int) -> [Int] {
    let lower = bytes.number(at: 12, bytes: 2)
    guard lower >= 16, lower <= meta.pageSize else {
      lose(page, "page \(page) has impossible bounds")
      return []
    }
    let nodes = (0..<((lower - 16) / 2)).map { bytes.number(at: 16 + 2 * $0, bytes: 2) }
    let sound = nodes.filter { node in
      node >= 16 && node + 8 <= meta.pageSize
        && bytes.number(at: node + 6, bytes: 2) <= meta.pageSize - node - 8
    }
    if sound.count < nodes.count { lose(page, "some nodes of page \(page) lie outside of it") }
    return sound
  }

  private mutating func leaf(_ bytes: Bytes, _ page: Int, isMain: Bool) throws(StoreError) {
    for node in nodes(bytes, page) {
      let size = bytes.number(at: node, bytes: 4)
      let flags = bytes.number(at: node + 4, bytes: 2)
      let start = node + 8 + bytes.number(at: node + 6, bytes: 2)
      let key = Bytes(bytes[(node + 8)..<start])
      let value: Bytes?
      if flags == 0 {
        value = size <= meta.pageSize - start ? Bytes(bytes[start..<(start + size)]) : nil
      } else {
        value = flags == 1 ? try large(bytes.number(at: start, bytes: 8), size) : nil
      }
      guard let value else {
        lose(page, "a value of page \(page) cannot be read")
        continue
      }
      if isMain {
        // Space 0 is the store's own.
        if let space = key.first, space > 0 { try row(key, value) }
      } else {
        let count = value.number(at: 0, bytes: 8)
        guard count <= value.count / 8 - 1 else {
          lose(page, "a list of free pages cannot be read")
          continue
        }
        for index in 0..<count { free.insert(value.number(at: 8 + 8 * index, bytes: 8)) }
      }
    }
  }

  /// A value that lies in pages of its own.
  private mutating func large(_ first: Int, _ size: Int) throws(StoreError) -> Bytes? {
    guard let head = try read(first), head.number(at: 10, bytes: 2) == 4 else { return nil }
    let count = (size + 16 + meta.pageSize - 1) / meta.pageSize
    guard count <= pages - first, count <= largePages else { return nil }
    largePages -= count
    let bytes = try LMDBMeta.bytes(
      of: file, at: first * meta.pageSize + 16, limit: size, name)
    guard bytes.count == size else { return nil }
    for page in first..<(first + max(1, count)) { reached.insert(page) }
    return bytes
  }
}
