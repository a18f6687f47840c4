internal import ConiferKeyValue
internal import ConiferStorage

/// A walk over the pages that the newest commit refers to, by `pread`, without mapping the file.
///
/// A valid file may end before the last page that its meta page names: pages at the end that a
/// transaction took and gave back are never written (about 1 commit of 100 under random edits). The
/// store lengthens the file after such a commit, so only a crash in between leaves a short file.
/// This walk then distinguishes it from a truncated one, in time proportional to the store.
struct LMDBPageWalk {
  private let file: Int32
  private let meta: LMDBMeta
  /// Whole pages in the file.
  private let pages: Int
  private let path: String
  /// The pages that were reached. A sound file references no page twice; a forged one with many
  /// references would take for ever.
  private var reached: PageSet
  /// The first words of all values of the tree of free pages, which are the lengths of its lists.
  private var free = 0

  init(file: Int32, meta: LMDBMeta, pages: Int, path: String) {
    (self.file, self.meta, self.pages, self.path) = (file, meta, pages, path)
    reached = PageSet(count: pages)
  }

  /// Checks that every page in use lies within the file, and that there are as many free pages as
  /// the file lacks: a forged last page must not lengthen the file without bound.
  ///
  /// - Throws: `damaged`, `io`.
  mutating func check() throws(StoreError) {
    if let root = meta.free.root { try visit(root, depth: meta.free.depth, isFree: true) }
    if let root = meta.main.root { try visit(root, depth: meta.main.depth, isFree: false) }
    guard meta.lastPage + 1 - pages <= free else {
      throw LMDBMeta.damaged(path, "it was cut, or its last page is wrong")
    }
  }

  /// Visits a page and those below.
  private mutating func visit(_ number: Int, depth: Int, isFree: Bool) throws(StoreError) {
    try reach(number, count: 1)
    let page = try LMDBMeta.bytes(
      of: file, at: number * meta.pageSize, limit: meta.pageSize, path)
    guard page.count == meta.pageSize else { throw cut(number) }
    let lower = page.number(at: 12, bytes: 2)
    let flags = page.number(at: 10, bytes: 2)
    guard page.number(at: 0, bytes: 8) == number, flags == (depth == 1 ? 2 : 1), lower >= 16,
      lower <= meta.pageSize
    else { throw LMDBMeta.damaged(path, "page \(number) is not readable") }
    for slot in 0..<((lower - 16) / 2) {
      let node = page.number(at: 16 + 2 * slot, bytes: 2)
      let low = page.number(at: node, bytes: 4)
      let more = page.number(at: node + 4, bytes: 2)
      let keySize = page.number(at: node + 6, bytes: 2)
      guard node >= 16, node + 8 <= meta.pageSize, keySize <= meta.pageSize - node - 8 else {
        throw LMDBMeta.damaged(path, "page \(number) is not readable")
      }
      if depth > 1 {
        // A branch keeps the upper 16 bits of the child's number where a leaf keeps flags.
        try visit(low | more << 32, depth: depth - 1, isFree: isFree)
      } else if more & 1 != 0 {
        let first = page.number(at: node + 8 + keySize, bytes: 8)
        let count = (low + 16 + meta.pageSize - 1) / meta.pageSize
        try reach(first, count: count)
        let start = try LMDBMeta.bytes(of: file, at: first * meta.pageSize + 16, limit: 8, path)
        if isFree { add(start.number(at: 0, bytes: 8)) }
      } else if isFree {
        add(page.number(at: node + 8 + keySize, bytes: 8))
      }
    }
  }

  private mutating func add(_ length: Int) {
    free = free.addingReportingOverflow(min(length, pages << 8)).partialValue
  }

  /// Records pages in use.
  private mutating func reach(_ first: Int, count: Int) throws(StoreError) {
    guard first >= 2, first < pages, count <= pages - first else { throw cut(first) }
    for page in first..<first + max(count, 1) where !reached.insert(page) {
      throw LMDBMeta.damaged(path, "page \(page) is reached twice")
    }
  }

  private func cut(_ page: Int) -> StoreError {
    LMDBMeta.damaged(path, "it was cut before page \(page), which is in use")
  }
}
