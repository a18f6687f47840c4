import ConiferEngine
import ConiferQuery
import ConiferTree

/// Copies a node to another database: finds what is to be written, and writes it slice by slice.
struct DataCopy {
  private typealias Answer = Result<Found, DatabaseError>

  /// What the other database's server has at a place.
  private enum Found: Sendable {
    case nothing
    /// All of it, which is a value where nobody asked for children.
    case all(Node)
    /// Children, or it may not be read: whoever wants to know more asks for each child.
    case something
  }

  /// How many writes wait for their answers.
  private static let mostUnderWay = 4
  /// How many places the server is asked about at once.
  private static let mostQuestions = 32

  private let target: any DatabaseEngine
  private let existing: Database.ExistingData
  private let tell: (@Sendable (Database.CopyProgress) -> Void)?
  private var progress: Database.CopyProgress
  private var slice = CopySlice()
  private var underWay: [(receipt: WriteReceipt, values: Int)] = []

  init(
    to target: any DatabaseEngine, _ existing: Database.ExistingData,
    _ progress: Database.CopyProgress, tell: (@Sendable (Database.CopyProgress) -> Void)?
  ) {
    self.target = target
    self.existing = existing
    self.progress = progress
    self.tell = tell
  }

  /// Copies a node that was read at a path, and returns when all is acknowledged.
  mutating func run(
    _ node: Node, at path: Path
  ) async throws(DatabaseError) -> Database.CopyProgress {
    switch existing {
    case _ where node.isEmpty: break
    case .replace: try await add(node, path)
    case .keep: try await addMissing(node, path)
    }
    try await send()
    while !underWay.isEmpty { try await awaitOldest() }
    return progress
  }

  // MARK: What is to be written

  /// Adds what the server does not have, unless it has a value above the path.
  private mutating func addMissing(_ node: Node, _ path: Path) async throws(DatabaseError) {
    for count in 0..<path.count {
      let above = Path(Array(path.keys.prefix(count)))
      switch try await found(at: above, isSmall: false).get() {
      case .nothing: return try await add(node, path)
      case .all: return progress.kept += node.leafCount
      case .something: break
      }
    }
    try await addMissing(node, path, try await found(at: path, isSmall: node.depth <= 1).get())
  }

  /// Adds what the server does not have.
  private mutating func addMissing(
    _ node: Node, _ path: Path, _ found: Found
  ) async throws(DatabaseError) {
    switch found {
    case .nothing: try await add(node, path)
    case .all(let there): try await addMissing(node, path, there)
    case .something:
      let children = node.children
      var start = children.startIndex
      while start < children.endIndex {
        let end = min(start + Self.mostQuestions, children.endIndex)
        let some = Array(children[start..<end])
        let answers = await self.found(below: path, some)
        for (child, answer) in zip(some, answers) {
          try await addMissing(child.node, path.appending(child.key), try answer.get())
        }
        start = end
      }
    }
  }

  /// Adds what another node lacks. Where that has a value, there is nothing to add below it, nor a map over it.
  private mutating func addMissing(
    _ node: Node, _ path: Path, _ there: Node
  ) async throws(DatabaseError) {
    if there.isEmpty { return try await add(node, path) }
    if node.isLeaf || there.isLeaf {
      progress.kept += node.leafCount
      return
    }
    if there.priority == nil { slice.add(priorityOf: node, at: path, isThere: true) }
    for (key, child) in node.children {
      try await addMissing(child, path.appending(key), there[key])
    }
  }

  /// Adds a node, in parts when it is too large for a slice.
  private mutating func add(_ node: Node, _ path: Path) async throws(DatabaseError) {
    if !slice.hasRoom(for: node, at: path), !slice.isEmpty { try await send() }
    if node.isLeaf || slice.hasRoom(for: node, at: path) { return slice.add(node, at: path) }
    slice.add(priorityOf: node, at: path, isThere: false)
    for (key, child) in node.children { try await add(child, path.appending(key)) }
  }

  // MARK: What is there

  /// What the server has at several children of a place, in their order.
  private func found(below path: Path, _ children: [Node.Child]) async -> [Answer] {
    await withTaskGroup(of: (Int, Answer).self) { group in
      for (index, child) in children.enumerated() {
        group.addTask { [self] in
          (index, await found(at: path.appending(child.key), isSmall: child.node.depth <= 1))
        }
      }
      var answers = [Answer](repeating: .success(.something), count: children.count)
      for await (index, answer) in group { answers[index] = answer }
      return answers
    }
  }

  /// What the server has at a place.
  ///
  /// - Parameter isSmall: whether it is asked for all at once, as this side has a value or a map of values there.
  ///   Otherwise the server may have far more than this side: it is asked for one child, and for all only when it has
  ///   none.
  private func found(at path: Path, isSmall: Bool) async -> Answer {
    do throws(DatabaseError) {
      if !isSmall, !(try await read(Self.firstChild(of: path)).isEmpty) {
        return .success(.something)
      }
      let there = try await read(QueryTarget(path))
      return .success(there.isEmpty ? .nothing : .all(there))
    } catch {
      // Rules may allow to read the children, and not all at once.
      let mayDescend = error.code == .permissionDenied && !isSmall
      return mayDescend ? .success(.something) : .failure(error)
    }
  }

  private static func firstChild(of path: Path) throws(DatabaseError) -> QueryTarget {
    do throws(TreeError) {
      return QueryTarget(path, try QuerySpec.default.ordered(by: .key).limited(toFirst: 1))
    } catch {
      throw DatabaseError(error)
    }
  }

  private func read(_ query: QueryTarget) async throws(DatabaseError) -> Node {
    let answer = Promise<Node>()
    target.getFromServer(query) { answer.resolve($0) }
    return try await answer.value()
  }

  // MARK: Writing

  /// Queues what the slice has.
  private mutating func send() async throws(DatabaseError) {
    let values = slice.valueCount
    guard let write = slice.takeWrite() else { return }
    underWay.append((target.write(write, completion: nil), values))
    while underWay.count >= Self.mostUnderWay { try await awaitOldest() }
  }

  /// Waits for the answer to the oldest write.
  private mutating func awaitOldest() async throws(DatabaseError) {
    let (receipt, values) = underWay.removeFirst()
    try await receipt.acknowledged()
    progress.copied += values
    tell?(progress)
  }
}
