import CSQLite
import ConiferKeyValue
import Synchronization

/// A frozen state of a SQLite store: a connection on loan whose read transaction holds the commit.
final class SQLiteView: OrderedView {
  private let lease: Lease

  init(_ lease: Lease) { self.lease = lease }

  deinit { lease.end() }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { lease.end() }

  private func table(_ space: Space, _ reader: Reader) throws(StoreError) -> Table {
    try lease.tables.table(space) { (table) throws(StoreError) in
      let statement = try reader.take(.ascend, table)
      defer { reader.giveBack(statement, .ascend, table) }
      return try statement.findsRow(of: space, reader.connection)
    }
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    let reader = try lease.enter()
    defer { lease.leave() }
    let table = try self.table(space, reader)
    let statement = try reader.take(.get, table)
    defer { reader.giveBack(statement, .get, table) }
    try reader.connection.check(statement.bind(key: key, in: space.id, to: 1), "bind a key")
    switch statement.step() {
    case SQLITE_ROW:
      guard let value = statement.column(0) else { throw reader.damaged("a value") }
      return read(value.bytes)
    case SQLITE_DONE: return nil
    case let code: throw reader.connection.failure(code, "get")
    }
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    let reader = try lease.enter()
    defer { lease.leave() }
    let table = try self.table(space, reader)
    let query: Reader.Query
    var from: Bytes
    // The bound at the far end: the next space's first key, or this one's.
    let bound: UInt8
    switch origin {
    case .atOrAfter(let key): (query, from, bound) = (.ascend, key, space.id + 1)
    case .atOrBefore(let key): (query, from, bound) = (.descend, key, space.id)
    }
    let statement = try reader.take(query, table)
    defer { reader.giveBack(statement, query, table) }
    try reader.connection.check(statement.bind(key: [], in: bound, to: 2), "bind a key")
    seeking: while true {
      try reader.connection.check(statement.bind(key: from, in: space.id, to: 1), "bind a key")
      while true {
        let code = statement.step()
        if code == SQLITE_DONE { return }
        guard code == SQLITE_ROW else { throw reader.connection.failure(code, "walk") }
        guard let stored = statement.column(0), stored.first == space.id,
          let value = statement.column(1)
        else { throw reader.damaged("a row") }
        let key = UnsafeRawBufferPointer(rebasing: stored.dropFirst()).bytes
        let next = visit(key, value.bytes)
        switch next {
        case .stop: return
        case .jump(let target):
          let order = key.compare(target)
          if query == .ascend ? order < 0 : order > 0 {
            from = target
            statement.reset()
            if lease.isEnding { throw .viewClosed }
            continue seeking
          }
        case .next: break
        }
        if lease.isEnding { throw .viewClosed }
      }
    }
  }
}

extension Reader {
  fileprivate func damaged(_ what: String) -> StoreError {
    ConiferSQLite.damaged(connection.path, cause: "\(what) is not a byte string")
  }
}
