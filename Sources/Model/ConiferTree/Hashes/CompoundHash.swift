/// Hashes of consecutive ranges of the leaves of a node, by which a server finds the ranges that
/// changed and sends only those (`RangeMerge`).
///
/// The text of a range and where ranges end are the Realtime Database's; text lengths count UTF-8
/// bytes. A priority comes at the place its key `.priority` has among the keys, also when no key
/// follows it.
public struct CompoundHash: Hashable, Sendable {
  /// The last leaf of each range, relative to the node.
  public let paths: [Path]

  /// The hash of each range, and an empty one for the range after the last leaf.
  public let hashes: [String]

  /// The compound hash of a node.
  ///
  /// - Parameters:
  ///   - node: the data.
  ///   - rangeLength: the UTF-8 bytes of text after which a range ends at the next leaf; by
  ///     default the greater of 512 and the square root of 100 times the estimated size.
  public init(of node: Node, rangeLength: Int? = nil) {
    let estimated = Int((100 * Double(node.estimatedSize)).squareRoot())
    var writer = RangeWriter(.afterLength(rangeLength ?? max(512, estimated)))
    writer.walk(node)
    (paths, hashes) = writer.finished()
  }

  /// The compound hash that a client sent; none when it cannot be one.
  ///
  /// - Parameters:
  ///   - paths: the last leaf of each range, strictly ascending.
  ///   - hashes: the hash of each range, and one more.
  public init?(paths: [Path], hashes: [String]) {
    guard hashes.count == paths.count + 1, zip(paths, paths.dropFirst()).allSatisfy(<) else {
      return nil
    }
    self.paths = paths
    self.hashes = hashes
  }
}

/// The writer of the texts of ranges, which go straight into the hash function.
struct RangeWriter {
  /// Where ranges end.
  enum Ends {
    /// At the first leaf with which the text has more UTF-8 bytes than this.
    case afterLength(Int)
    /// At given leaves, whether the data has them or not; strictly ascending.
    case at([Path])
  }

  private let ends: Ends
  /// The number of given ends that were passed.
  private var passed = 0
  private var paths: [Path] = []
  /// Where the walk is.
  private var keys: [Key] = []
  /// The leaf written last.
  private var lastLeaf: [Key] = []
  /// The text of the open range, if one is open.
  private var text: SHA1?
  private var needsComma = false

  /// With given ends, one hash for each end and one for what follows; empty for a range without
  /// leaves.
  private var hashes: [String] = []

  init(_ ends: Ends) { self.ends = ends }

  mutating func walk(_ node: Node) {
    if node.isEmpty { return }
    if node.isLeaf { return write(leaf: node) }
    var levels = [Level(node)]
    while !levels.isEmpty {
      guard let child = levels[levels.count - 1].next() else {
        levels.removeLast()
        if !levels.isEmpty { leave() }
        continue
      }
      enter(child.key)
      if child.node.isLeaf {
        write(leaf: child.node)
        leave()
      } else {
        levels.append(Level(child.node))
      }
    }
  }

  consuming func finished() -> ([Path], [String]) {
    if case .at(let paths) = ends {
      while passed < paths.count { close() }
      close()
      return (paths, hashes)
    }
    if text != nil { close() }
    return (paths, hashes + [""])
  }

  private mutating func add(_ string: String) { text?.add(string) }

  private mutating func open(_ key: Key) {
    text?.add(quoted: key.string)
    add(":(")
  }

  /// Opens a range with all keys down to here, unless one is open.
  private mutating func begin() {
    guard text == nil else { return }
    text = SHA1()
    add("(")
    for key in keys { open(key) }
    needsComma = false
  }

  private mutating func enter(_ key: Key) {
    if case .at(let paths) = ends {
      while passed < paths.count, Path.compare(keys + [key], paths[passed].keys) > 0 { close() }
    }
    begin()
    if needsComma { add(",") }
    open(key)
    keys.append(key)
    needsComma = false
  }

  private mutating func leave() {
    add(")")
    keys.removeLast()
    needsComma = true
  }

  private mutating func write(leaf: Node) {
    begin()
    text?.add(leafOf: leaf, quoted: true)
    lastLeaf = keys
    needsComma = true
    switch ends {
    case .afterLength(let length):
      if (text?.count ?? 0) > length, keys.last?.isPriority != true { close() }
    case .at(let paths):
      if passed < paths.count, paths[passed].keys == keys { close() }
    }
  }

  private mutating func close() {
    for _ in keys { add(")") }
    add(")")
    let range = text.take()
    if case .at = ends {
      hashes.append(range?.finished().base64 ?? "")
      passed += 1
    } else if let range {
      hashes.append(range.finished().base64)
      paths.append(Path(lastLeaf))
    }
  }
}

/// The children of a node in key order with its priority among them as a leaf.
private struct Level {
  private var children: Node.Children.Iterator
  private var priority: Priority?
  private var ahead: Node.Child?

  init(_ node: Node) {
    children = node.children.makeIterator()
    priority = node.priority
  }

  mutating func next() -> Node.Child? {
    let child = ahead.take() ?? children.next()
    guard let priority, child.map({ Key.priority < $0.key }) ?? true else { return child }
    ahead = child
    self.priority = nil
    return (key: .priority, node: Node(priority.leaf))
  }
}
