import ConiferEngine
import ConiferQuery
import ConiferTree

/// Copies a node to another database: finds what is to be written, and writes it slice by slice.
struct DataCopy {
  private typealias Answer = Result<Found, DatabaseError>

  /// What the other database's server has at a place.
  private enum Found: Sendable {
    case nothing
    /// A value, or anything at all where this side has a value.
    case value
    /// A map with these children and no others.
    case children(Node, needsPriority: Bool)
    /// A map, or it may not be read: whoever wants to know more asks for each child.
    case something(needsPriority: Bool)
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
    case .keep:
      try await awaitQueue(path)
      try await addMissing(node, path)
    }
    try await send()
    while !underWay.isEmpty { try await awaitOldest() }
    return progress
  }

  /// Waits until the server has answered what was written before, by an earlier copy too: it would be taken for missing.
  private func awaitQueue(_ path: Path) async throws(DatabaseError) {
    guard try await target.writeTotals().pending > 0 else { return }
    // Something small, to know that there is a connection.
    _ = try await hasPriority(at: path)
    _ = try await target.drain(until: .infinity)
  }

  // MARK: What is to be written

  /// Adds what the server does not have, unless it has a value above the path.
  private mutating func addMissing(_ node: Node, _ path: Path) async throws(DatabaseError) {
    let there = try await found(at: path, node).get()
    // Where something is, there is no value above it.
    if case .nothing = there, try await hasValue(above: path) {
      progress.kept += node.leafCount
      return
    }
    try await addMissing(node, path, there)
  }

  /// Adds what the server does not have.
  private mutating func addMissing(
    _ node: Node, _ path: Path, _ found: Found
  ) async throws(DatabaseError) {
    switch found {
    case .nothing: try await add(node, path)
    case .value: progress.kept += node.leafCount
    case .children(let there, let needsPriority):
      if needsPriority { try await addPriority(of: node, path) }
      try await addMissingChildren(of: node, path, there)
    case .something(let needsPriority):
      if needsPriority { try await addPriority(of: node, path) }
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
    if there.priority == nil { try await addPriority(of: node, path) }
    try await addMissingChildren(of: node, path, there)
  }

  private mutating func addMissingChildren(
    of node: Node, _ path: Path, _ there: Node
  ) async throws(DatabaseError) {
    for (key, child) in node.children {
      try await addMissing(child, path.appending(key), there[key])
    }
  }

  /// Adds the priority of a map that the server has.
  private mutating func addPriority(of node: Node, _ path: Path) async throws(DatabaseError) {
    slice.add(priorityOf: node, at: path, isThere: true)
    if slice.isFull { try await send() }
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
          (index, await found(at: path.appending(child.key), child.node))
        }
      }
      var answers = [Answer](
        repeating: .success(.something(needsPriority: false)), count: children.count)
      for await (index, answer) in group { answers[index] = answer }
      return answers
    }
  }

  /// What the server has at a place where this side has a node.
  ///
  /// The server may have far more there than this side. Of a map of values it is asked for about as many children as
  /// this side has, and of a map of maps for one.
  private func found(at path: Path, _ node: Node) async -> Answer {
    do throws(DatabaseError) {
      if node.isLeaf {
        return .success(try await read(QueryTarget(path)).isEmpty ? .nothing : .value)
      }
      let most = node.depth <= 1 ? 2 * node.childCount + Self.mostQuestions : 1
      guard let children = try await children(of: path, first: most) else {
        return .success(.value)
      }
      if children.isEmpty { return .success(.nothing) }
      let needsPriority = try await lacksPriority(of: node, at: path)
      return .success(
        children.childCount < most
          ? .children(children, needsPriority: needsPriority)
          : .something(needsPriority: needsPriority))
    } catch {
      // Rules may allow to read the children, and not all at once.
      guard error.code == .permissionDenied, !node.isLeaf else { return .failure(error) }
      return .success(.something(needsPriority: false))
    }
  }

  /// Whether the server has a value at a place above a path, at which it has nothing. A place that may not be read
  /// counts as a map, as do those above it.
  private func hasValue(above path: Path) async throws(DatabaseError) -> Bool {
    do throws(DatabaseError) {
      for count in (0..<path.count).reversed() {
        let above = Path(Array(path.keys.prefix(count)))
        guard let children = try await children(of: above, first: 1) else { return true }
        if !children.isEmpty { return false }
      }
      return false
    } catch {
      guard error.code == .permissionDenied else { throw error }
      return false
    }
  }

  /// The first children of a place in the order of their keys, without its priority; empty where nothing is, and nil
  /// where a value is.
  private func children(of path: Path, first count: Int) async throws(DatabaseError) -> Node? {
    let query: QueryTarget
    do throws(TreeError) {
      query = QueryTarget(path, try QuerySpec.default.ordered(by: .key).limited(toFirst: count))
    } catch {
      throw DatabaseError(error)
    }
    let some = try await read(query)
    // A value has no children, and is not told apart from nothing.
    let found = some.isEmpty ? try await read(QueryTarget(path)) : some
    return found.isLeaf ? nil : found
  }

  /// Whether a map has a priority here and none at the server; no where that may not be read.
  private func lacksPriority(of node: Node, at path: Path) async throws(DatabaseError) -> Bool {
    guard node.priority != nil else { return false }
    return try await !hasPriority(at: path)
  }

  /// Whether the server has a priority at a place, or it may not be read.
  private func hasPriority(at path: Path) async throws(DatabaseError) -> Bool {
    do throws(DatabaseError) {
      return try await !read(QueryTarget(path.appending(.priority))).isEmpty
    } catch {
      guard error.code == .permissionDenied else { throw error }
      return true
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
