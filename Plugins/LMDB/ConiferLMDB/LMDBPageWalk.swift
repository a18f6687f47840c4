internal import ConiferKeyValue
internal import ConiferStorage

/// A walk over the pages that the newest commit refers to, by `pread`, without mapping the file.
///
/// A file may rightly end before the last page that its meta page names: pages at the end that a
/// transaction took and gave back are never written (about 1 commit of 100 under random edits). The
/// store lengthens the file after such a commit, so that only a crash in between leaves one, and
/// then this walk, in time proportional to the store, tells it from a file that was cut.
struct LMDBPageWalk {
  let file: Int32
  let meta: LMDBMeta
  /// Whole pages in the file.
  let pages: Int
  let path: String

  /// Checks that every page in use lies within the file, and that there are as many free pages as
  /// the file is short of: a last page that was made up must not lengthen the file without bound.
  ///
  /// - Throws: `damaged`, `io`.
  func check() throws(StoreError) {
    var free = 0
    if let root = meta.free.root { try visit(root, depth: meta.free.depth, countingIn: &free) }
    var none = 0
    if let root = meta.main.root { try visit(root, depth: meta.main.depth, countingIn: &none) }
    guard meta.lastPage + 1 - pages <= free else {
      throw LMDBMeta.damaged(path, "it was cut, or its last page is wrong")
    }
  }

  /// Visits a page and those below; adds up the first words of all values, which in the tree of
  /// free pages are the lengths of its lists.
  private func visit(
    _ number: Int, depth: Int, countingIn words: inout Int
  ) throws(StoreError) {
    guard number >= 2, number < pages else { throw cut(number) }
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
        try visit(low | more << 32, depth: depth - 1, countingIn: &words)
      } else if more & 1 != 0 {
        let first = page.number(at: node + 8 + keySize, bytes: 8)
        let count = (low + 16 + meta.pageSize - 1) / meta.pageSize
        guard first >= 2, first < pages, count <= pages - first else { throw cut(first) }
        let start = try LMDBMeta.bytes(of: file, at: first * meta.pageSize + 16, limit: 8, path)
        words =
          words.addingReportingOverflow(min(start.number(at: 0, bytes: 8), pages << 8))
          .partialValue
      } else {
        let word = page.number(at: node + 8 + keySize, bytes: 8)
        words = words.addingReportingOverflow(min(word, pages << 8)).partialValue
      }
    }
  }

  private func cut(_ page: Int) -> StoreError {
    LMDBMeta.damaged(path, "it was cut before page \(page), which is in use")
  }
}
