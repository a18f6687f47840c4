import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Writes the node at a path as JSON, reading it in pieces.
///
/// The two upper levels are walked by the keys of their children; below, children are read in
/// slices that grow while they are small and shrink while they are large. So memory holds about a
/// megabyte, or the first few nodes of the fourth level when they are larger.
struct Exporter {
  private static let sliceSize = 1 << 20
  private static let firstSlice = 32
  private static let walkedLevels = 2

  let view: any StorageView
  let tree: TreeID
  let form: Node.JSONForm
  var writer: JSONWriter

  /// Writes the whole value and flushes.
  mutating func export(_ path: Path) throws {
    try write(path, level: 0)
    try writer.finish()
  }

  private mutating func write(_ path: Path, level: Int) throws {
    guard try !view.childKeys(tree, path, after: nil, limit: 1).isEmpty else {
      return try view.node(tree, path).write(to: &writer, form)
    }
    let isArray = form == .plain ? try isArray(path) : false
    var next: Int32 = 0
    if isArray { writer.beginArray() } else { writer.beginObject() }
    if form == .export, let priority = try view.node(tree, path.appending(.priority)).leaf {
      writer.key(Key.priority.string)
      writer.leaf(priority)
    }
    try forEachChild(path, level) { exporter, key, node in
      if isArray, let index = key.integer {
        for _ in next..<index { exporter.writer.null() }
        next = index + 1
      } else {
        key.withUTF8 { exporter.writer.key(utf8: $0) }
      }
      if let node {
        node.write(to: &exporter.writer, exporter.form)
      } else {
        try exporter.write(path.appending(key), level: level + 1)
      }
      if let failure = exporter.writer.failure { throw failure }
    }
    if isArray { writer.endArray() } else { writer.endObject() }
  }

  /// Gives each child in order: with its node, or without it where it is to be walked in turn.
  private mutating func forEachChild(
    _ path: Path, _ level: Int, _ body: (inout Exporter, Key, Node?) throws -> Void
  ) throws {
    let window = 1000
    var last: Key?
    var count = Self.firstSlice
    while true {
      if level < Self.walkedLevels {
        let keys = try view.childKeys(tree, path, after: last, limit: window)
        for key in keys { try body(&self, key, nil) }
        guard keys.count == window else { return }
        last = keys.last
        continue
      }
      // The bound is included, so the last child is read again and left out.
      let asked = last == nil ? count : count + 1
      let slice = try view.node(tree, path, NodeSlice(from: last, limit: asked))
      for child in slice.children where child.key != last {
        try body(&self, child.key, child.node)
      }
      guard slice.childCount == asked else { return }
      last = slice.lastChild?.key
      let size = slice.estimatedSize
      count = size < Self.sliceSize / 2 ? min(count * 2, 4096) : max(1, count / 2)
    }
  }

  /// Whether the plain form shows the children as an array, by the rule of `Node.JSONForm.plain`.
  private func isArray(_ path: Path) throws -> Bool {
    var count = 0
    var end = 0
    var areIndexes = true
    try view.forEachKey(tree, path) { key in
      areIndexes = key.integer.map { key == Key(Int($0)) && $0 >= 0 } ?? false
      count += 1
      end = Int(key.integer ?? 0)
      return areIndexes
    }
    return areIndexes && end < 2 * count
  }
}
