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
  private var used: PageSet
  private var free: PageSet
  private var problems: [StoreFinding] = []
  private var entries = 0

  /// Which tree a page belongs to: pages by key, or the lists of free pages by commit.
  private enum Kind {
    case main
    case free
  }

  init(file: Int32, meta: LMDBMeta, length: Int, name: String) {
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
  mutating func run(_ found: (StoreFinding) -> Void) -> Bool {
    for (tree, kind) in [(meta.main, Kind.main), (meta.free, .free)] {
      entries = 0
      if let root = tree.root {
        guard (1..<32).contains(tree.depth) else {
          problem(0, "the meta page gives a tree \(tree.depth) levels")
          continue
        }
        visit(root, tree.depth, kind, nil, nil)
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
    _ number: Int, _ depth: Int, _ kind: Kind, _ low: Bytes?, _ high: Bytes?, from parent: Int = 0
  ) {
    guard take(number, from: parent) else { return }
    guard let page = Platform.read(file, at: number * meta.pageSize, limit: meta.pageSize),
      page.count == meta.pageSize
    else { return problem(number, "page \(number) cannot be read") }
    let (flags, lower, upper) = (
      page.number(at: 10, bytes: 2), page.number(at: 12, bytes: 2), page.number(at: 14, bytes: 2)
    )
    guard page.number(at: 0, bytes: 8) == number, flags == (depth == 1 ? 2 : 1) else {
      return problem(number, "page \(number) is not the page that should be there")
    }
    guard lower >= 18, lower & 1 == 0, lower <= upper, upper <= meta.pageSize else {
      return problem(number, "page \(number) has impossible bounds")
    }
    let nodes = (0..<((lower - 16) / 2)).map { page.number(at: 16 + 2 * $0, bytes: 2) }
    var keys: [Bytes] = []
    for (slot, node) in nodes.enumerated() {
      let size = page.number(at: node + 6, bytes: 2)
      guard node >= upper, node & 1 == 0, node + 8 <= meta.pageSize,
        size <= meta.pageSize - node - 8
      else {
        return problem(number, "a node of page \(number) lies outside of it")
      }
      // The first key of a branch covers everything before the second key and is never compared.
      let key = depth > 1 && slot == 0 ? low ?? [] : Bytes(page[(node + 8)..<(node + 8 + size)])
      let isFirst = depth > 1 && slot == 0
      guard isFirst || (kind == .free ? size == 8 : (1...511).contains(size)) else {
        return problem(number, "a key of page \(number) has \(size) bytes")
      }
      if !isFirst {
        let isAbove = keys.last.map {
          precedes($0, key, kind) || (depth > 1 && slot == 1 && low == nil)
        }
        guard isAbove ?? !(low.map { precedes(key, $0, kind) } ?? false),
          high.map({ precedes(key, $0, kind) }) ?? true
        else { return problem(number, "the keys of page \(number) are not in order") }
      }
      keys.append(key)
    }
    for (slot, node) in nodes.enumerated() {
      let word = page.number(at: node, bytes: 4)
      let more = page.number(at: node + 4, bytes: 2)
      if depth > 1 {
        visit(
          word | more << 32, depth - 1, kind, slot == 0 ? low : keys[slot],
          slot + 1 < keys.count ? keys[slot + 1] : high, from: number)
      } else {
        value(page, number, node + 8 + keys[slot].count, word, more, kind)
      }
    }
    if depth == 1 { entries += nodes.count }
  }

  /// Checks the value of a node of a leaf page.
  private mutating func value(
    _ page: Bytes, _ number: Int, _ at: Int, _ size: Int, _ flags: Int, _ kind: Kind
  ) {
    guard flags & ~1 == 0 else {
      return problem(number, "a node of page \(number) is of an unknown kind")
    }
    guard flags == 1 else {
      guard at + size <= meta.pageSize else {
        return problem(number, "a value of page \(number) lies outside of it")
      }
      if kind == .free { list(Bytes(page[at..<(at + size)]), number) }
      return
    }
    let first = page.number(at: at, bytes: 8)
    guard at + 8 <= meta.pageSize, take(first, from: number) else {
      return problem(number, "a large value of page \(number) is not where it should be")
    }
    let count = (size + 16 + meta.pageSize - 1) / meta.pageSize
    guard let head = Platform.read(file, at: first * meta.pageSize, limit: 16), head.count == 16,
      head.number(at: 0, bytes: 8) == first, head.number(at: 10, bytes: 2) == 4,
      head.number(at: 12, bytes: 4) == count
    else { return problem(first, "page \(first) is not the large value that should be there") }
    for page in (first + 1)..<(first + max(count, 1)) where !take(page, from: number) { return }
    guard kind == .free else { return }
    guard let bytes = Platform.read(file, at: first * meta.pageSize + 16, limit: size),
      bytes.count == size
    else { return problem(first, "page \(first) cannot be read") }
    list(bytes, first)
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
  private func precedes(_ a: Bytes, _ b: Bytes, _ kind: Kind) -> Bool {
    kind == .free
      ? a.number(at: 0, bytes: 8) < b.number(at: 0, bytes: 8) : bytesPrecede(a, b)
  }
}
