import ConiferTree

/// The data at a transaction's path, or at a path below it, which the transaction's function reads
/// and changes.
///
/// It is used by that function alone, while it runs.
public final class MutableData {
  /// The data of the transaction's place, shared by all parts of it.
  private final class Root {
    var node: Node
    var error: DatabaseError?
    /// Where the transaction runs.
    let path: Path

    init(_ node: Node, _ path: Path) {
      self.node = node
      self.path = path
    }
  }

  private let root: Root
  /// Where this part is, from the transaction's place.
  private let path: Path

  init(_ node: Node, at path: Path) {
    root = Root(node, path)
    self.path = .root
  }

  private init(_ root: Root, _ path: Path) {
    self.root = root
    self.path = path
  }

  /// The data, as the tree has it.
  var node: Node { root.node[path] }
  /// The whole of the transaction's data.
  var whole: Node { root.node }
  /// The first error of a value that was set.
  var error: DatabaseError? { root.error }

  /// The data: a String, a number, a Bool, `[String: Any]`, `[Any]`, or nil where there is nothing.
  ///
  /// Setting it replaces all that is here, and the priority; it takes what `setValue` takes. What
  /// is invalid ends the transaction with an error.
  public var value: Any? {
    get { ValueWriter.plain(node) }
    set {
      attempt { () throws(DatabaseError) in
        let node = try WriteRules.set(newValue, at: root.path.appending(path))
        root.node = root.node.setting(path, to: node)
      }
    }
  }

  /// The priority: a String, a number, or nil. Setting it where there is nothing does nothing.
  public var priority: Any? {
    get { node.priority.map { ValueWriter.value($0.leaf) } }
    set {
      attempt { () throws(DatabaseError) in
        let node = try WriteRules.priority(newValue, at: root.path.appending(path))
        root.node = root.node.setting(path.appending(.priority), to: node)
      }
    }
  }

  /// The key of this part; nil for the transaction's own place when that is the root.
  public var key: String? { root.path.appending(path).last?.string }

  /// The part above; nil for the transaction's own place.
  public var parent: MutableData? { path.parent.map { MutableData(root, $0) } }

  /// A part below; setting it changes the whole.
  ///
  /// - Parameter path: keys separated by slashes.
  public func childData(byAppendingPath path: String) -> MutableData {
    let place = self.path.appending(Path(path))
    if let error = WriteRules.fault(root.path.appending(place)) { root.error = root.error ?? error }
    return MutableData(root, place)
  }

  /// A part below; setting it changes the whole.
  ///
  /// - Parameter path: keys separated by slashes.
  public func child(_ path: String) -> MutableData { childData(byAppendingPath: path) }

  /// Whether there are children.
  public func hasChildren() -> Bool { node.childCount > 0 }

  /// Whether there is anything at a path from here.
  public func hasChild(atPath path: String) -> Bool { !node[Path(path)].isEmpty }

  /// How many children there are.
  public var childrenCount: UInt { UInt(node.childCount) }

  /// The children that there are now, in the order of their priorities.
  public var children: Children {
    Children(
      allObjects: node.children.sorted { Node.comparePriorities($0, $1) < 0 }
        .map { MutableData(root, path.appending($0.key)) })
  }

  private func attempt(_ change: () throws(DatabaseError) -> Void) {
    do throws(DatabaseError) {
      try change()
    } catch {
      root.error = root.error ?? error
    }
  }
}
