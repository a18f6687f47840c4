internal import ConiferKeyValue
internal import ConiferStorage

/// A walk over both trees of one commit by `pread`, which checks everything that it reads.
///
/// The layout is that of LMDB 0.9's data format 1 on 64-bit systems: `MDB_page`, `MDB_node` and the
/// lists of free pages.
struct LMDBTreeCheck {
  private let file: Int32
  private let meta: LMDBMeta
  /// Whole pages in the file.
  private let pages: Int
  private let name: String
  private let isEnding: () -> Bool
  private var used: PageSet
  private var free: PageSet
  private var problems: [StoreFinding] = []
  private var entries = 0

  /// Which tree a page belongs to: pages by key, or the lists of free pages by commit.
  private enum Kind {
    case main
    case free
  }

  /// A key of a page above.
  private struct Key {
    let page: Bytes
    let bytes: Range<Int>

    func with<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
      page.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[bytes])) }
    }
  }

  /// - Parameter isEnding: whether to end early; asked for each page.
  init(
    file: Int32, meta: LMDBMeta, length: Int, name: String,
    isEnding: @escaping () -> Bool = { false }
  ) {
    self.isEnding = isEnding
    self.file = file
    self.meta = meta
    self.name = name
    pages = length / meta.pageSize
    // A forged last page must not take memory without bound.
    let known = min(meta.lastPage + 1, pages)
    used = PageSet(count: known)
    free = PageSet(count: meta.lastPage < pages + 1 << 20 ? meta.lastPage + 1 : known)
  }

  /// Walks everything; true when both trees may be read.
  ///
  /// - Throws: `io`, `closed` (it was to end early).
  mutating func run(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    for (tree, kind) in [(meta.main, Kind.main), (meta.free, .free)] {
      entries = 0
      if let root = tree.root {
        guard (1..<32).contains(tree.depth) else {
          problem(0, "the meta page gives a tree \(tree.depth) levels")
          continue
        }
        try visit(root, tree.depth, kind, nil, nil)
      }
      if problems.isEmpty, entries != tree.entries {
        problem(0, "the meta page counts \(tree.entries) keys, and there are \(entries)")
      }
    }
    for page in used.common(with: free).prefix(100) {
      problem(page, "page \(page) is in use and counts as free")
    }
    problems.forEach(found)
    return problems.isEmpty
  }

  private mutating func problem(_ page: Int, _ words: String) {
    guard problems.count < 1000 else { return }
    problems.append(
      StoreFinding(
        file: name, offset: page * meta.pageSize, bytes: meta.pageSize, words: words))
  }

  /// Counts a page as used; false when it cannot be.
  private mutating func take(_ page: Int, from parent: Int) -> Bool {
    guard page >= 2, page <= meta.lastPage, page < pages else {
      problem(parent, "page \(parent) points to page \(page), which is not in the file")
      return false
    }
    guard used.insert(page) else {
      problem(page, "page \(page) is reached twice")
      return false
    }
    return true
  }

  private mutating func visit(
    _ number: Int, _ depth: Int, _ kind: Kind, _ low: Key?, _ high: Key?, from parent: Int = 0
  ) throws(StoreError) {
    guard take(number, from: parent) else { return }
    if isEnding() { throw .lmdbClosed(name) }
    let page = try read(number, 0, meta.pageSize)
    guard page.count == meta.pageSize else { return cut(number) }
    let found = page.withUnsafeBytes { content(of: $0, number, depth, kind, low, high) }
    let (count, hasLists): (Int, Bool)
    switch found {
    case .wrong(let words): return problem(number, words)
    case .nodes(let nodes, let lists): (count, hasLists) = (nodes, lists)
    }
    if depth == 1 { entries += count }
    guard depth > 1 || hasLists else { return }
    // The first key of a branch covers everything before the second key and is never compared.
    func key(_ slot: Int) -> Key? {
      guard slot > 0 else { return low }
      guard slot < count else { return high }
      let node = page.number(at: 16 + 2 * slot, bytes: 2)
      let size = page.number(at: node + 6, bytes: 2)
      return Key(page: page, bytes: node + 8..<node + 8 + size)
    }
    for slot in 0..<count {
      let node = page.number(at: 16 + 2 * slot, bytes: 2)
      let word = page.number(at: node, bytes: 4)
      let more = page.number(at: node + 4, bytes: 2)
      if depth > 1 {
        try visit(word | more << 32, depth - 1, kind, key(slot), key(slot + 1), from: number)
      } else {
        let at = node + 8 + page.number(at: node + 6, bytes: 2)
        try value(page, number, at, word, more, kind)
      }
    }
  }

  /// What a page holds: how many nodes, and whether there is more to be looked at than they are.
  private enum Content {
    case nodes(Int, hasLists: Bool)
    case wrong(String)
  }

  /// Checks the nodes of a page, which may lead nowhere outside of it.
  private func content(
    of page: UnsafeRawBufferPointer, _ number: Int, _ depth: Int, _ kind: Kind, _ low: Key?,
    _ high: Key?
  ) -> Content {
    func short(_ at: Int) -> Int {
      Int(UInt16(littleEndian: page.loadUnaligned(fromByteOffset: at, as: UInt16.self)))
    }
    let (lower, upper) = (short(12), short(14))
    guard page.loadUnaligned(as: UInt64.self).littleEndian == UInt64(number),
      short(10) == (depth == 1 ? 2 : 1)
    else { return .wrong("page \(number) is not the page that should be there") }
    guard lower >= 18, lower & 1 == 0, lower <= upper, upper <= meta.pageSize else {
      return .wrong("page \(number) has impossible bounds")
    }
    let count = (lower - 16) / 2
    let isBranch = depth > 1
    var hasLists = kind == .free
    var last: UnsafeRawBufferPointer?
    for slot in 0..<count {
      let node = short(16 + 2 * slot)
      guard node >= upper, node & 1 == 0, node + 8 <= meta.pageSize,
        short(node + 6) <= meta.pageSize - node - 8
      else { return .wrong("a node of page \(number) lies outside of it") }
      let size = short(node + 6)
      if !isBranch {
        let (length, flags) = (short(node) | short(node + 2) << 16, short(node + 4))
        guard flags & ~1 == 0 else {
          return .wrong("a node of page \(number) is of an unknown kind")
        }
        guard flags == 1 || node + 8 + size + length <= meta.pageSize else {
          return .wrong("a value of page \(number) lies outside of it")
        }
        if flags == 1 { hasLists = true }
      } else if slot == 0 {
        continue
      }
      guard kind == .free ? size == 8 : (1...511).contains(size) else {
        return .wrong("a key of page \(number) has \(size) bytes")
      }
      let key = UnsafeRawBufferPointer(rebasing: page[node + 8..<node + 8 + size])
      let isAbove: Bool
      if let last {
        isAbove = Self.precedes(last, key, kind)
      } else if let low {
        isAbove = low.with {
          isBranch ? Self.precedes($0, key, kind) : !Self.precedes(key, $0, kind)
        }
      } else {
        isAbove = true
      }
      guard isAbove, high?.with({ Self.precedes(key, $0, kind) }) ?? true else {
        return .wrong("the keys of page \(number) are not in order")
      }
      last = key
    }
    return .nodes(count, hasLists: hasLists)
  }

  /// Checks the value of a node of a leaf page.
  private mutating func value(
    _ page: Bytes, _ number: Int, _ at: Int, _ size: Int, _ flags: Int, _ kind: Kind
  ) throws(StoreError) {
    guard flags == 1 else {
      if kind == .free { list(Bytes(page[at..<(at + size)]), number) }
      return
    }
    let first = page.number(at: at, bytes: 8)
    guard at + 8 <= meta.pageSize, take(first, from: number) else {
      return problem(number, "a large value of page \(number) is not where it should be")
    }
    // A shorter value in the place of a longer one may have kept its pages.
    let least = (size + 16 + meta.pageSize - 1) / meta.pageSize
    let head = try read(first, 0, 16)
    let count = head.number(at: 12, bytes: 4)
    guard head.count == 16, head.number(at: 0, bytes: 8) == first,
      head.number(at: 10, bytes: 2) == 4, count >= max(least, 1)
    else { return problem(first, "page \(first) is not the large value that should be there") }
    for page in (first + 1)..<(first + count) where !take(page, from: number) { return }
    guard kind == .free else { return }
    let bytes = try read(first, 16, size)
    guard bytes.count == size else { return cut(first) }
    list(bytes, first)
  }

  private func read(_ page: Int, _ offset: Int, _ count: Int) throws(StoreError) -> Bytes {
    try LMDBMeta.bytes(of: file, at: page * meta.pageSize + offset, limit: count, name)
  }

  private mutating func cut(_ page: Int) {
    problem(page, "page \(page) lies behind the end of the file")
  }

  /// Counts the pages of a list as free.
  private mutating func list(_ bytes: Bytes, _ number: Int) {
    let count = bytes.number(at: 0, bytes: 8)
    guard count <= bytes.count / 8 - 1 else {
      return problem(number, "a list of free pages in page \(number) is too long")
    }
    for index in 0..<count {
      let page = bytes.number(at: 8 + 8 * index, bytes: 8)
      guard page >= 2, page <= meta.lastPage else {
        return problem(number, "a list in page \(number) frees page \(page), which is not there")
      }
      guard free.insert(page) else {
        return problem(page, "page \(page) counts as free twice")
      }
    }
  }

  /// Whether a key sorts before another: numbers of commits little-endian, all others as bytes.
  private static func precedes(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ kind: Kind
  ) -> Bool {
    switch kind {
    case .main: compareBytes(a, b) < 0
    case .free:
      a.loadUnaligned(as: UInt64.self).littleEndian < b.loadUnaligned(as: UInt64.self).littleEndian
    }
  }
}
