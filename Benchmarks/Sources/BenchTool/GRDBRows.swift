#if GRDB
  import CPeers
  import ConiferBenchmark
  import ConiferKeyValue
  import Foundation
  import GRDB

  /// GRDB as an app would use it: a pool, kept statements, one leaf a row.
  final class GRDBRows: RowStore {
    private let pool: DatabasePool

    init(at directory: String, _ durability: Durability) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA cache_size = -65536; PRAGMA mmap_size = 1073741824")
      }
      pool = try DatabasePool(path: directory + "/rows.sqlite", configuration: configuration)
      try pool.writeWithoutTransaction { database in
        // A pool sets NORMAL itself when it is opened; power loss takes commits from that.
        try database.execute(
          sql: """
            PRAGMA synchronous = \(durability == .power ? "FULL" : "NORMAL");
            CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID
            """)
      }
    }

    func commit(_ edits: UnsafeRawBufferPointer) throws {
      try pool.write { database in
        let put = try database.cachedStatement(sql: "INSERT OR REPLACE INTO rows VALUES (?, ?)")
        let delete = try database.cachedStatement(sql: "DELETE FROM rows WHERE k = ?")
        let clear = try database.cachedStatement(sql: "DELETE FROM rows WHERE k >= ? AND k < ?")
        try RowBatch.forEach(edits) { kind, key, value in
          switch kind {
          case PEER_PUT: try put.execute(arguments: [Data(key), Data(value)])
          case PEER_DELETE: try delete.execute(arguments: [Data(key)])
          default: try clear.execute(arguments: [Data(key), Data(value)])
          }
        }
      }
    }

    func get(
      _ key: [UInt8], _ visit: peer_visit, _ context: UnsafeMutableRawPointer
    ) throws -> Bool {
      let value = try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT v FROM rows WHERE k = ?")
        return try Data.fetchOne(statement, arguments: [Data(key)])
      }
      guard let value else { return false }
      _ = value.withUnsafeBytes { bytes in
        visit(
          context, key, key.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
          bytes.count)
      }
      return true
    }

    func scan(
      _ from: [UInt8], _ to: [UInt8], backwards: Bool, _ visit: peer_visit,
      _ context: UnsafeMutableRawPointer
    ) throws {
      try pool.read { database in
        let statement = try database.cachedStatement(
          sql: "SELECT k, v FROM rows WHERE k >= ? AND k < ? ORDER BY k"
            + (backwards ? " DESC" : ""))
        let rows = try Row.fetchCursor(statement, arguments: [Data(from), Data(to)])
        while let row = try rows.next() {
          let goesOn = try row.withUnsafeData(atIndex: 0) { key in
            try row.withUnsafeData(atIndex: 1) { value in
              Self.lend(key ?? Data(), value ?? Data(), visit, context)
            }
          }
          if !goesOn { return }
        }
      }
    }

    private static func lend(
      _ key: Data, _ value: Data, _ visit: peer_visit, _ context: UnsafeMutableRawPointer
    ) -> Bool {
      key.withUnsafeBytes { key in
        value.withUnsafeBytes { value in
          visit(
            context, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count,
            value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count)
        }
      }
    }

    func compact() throws {
      try pool.vacuum()
      try pool.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    }

    var liveBytes: Int? {
      try? pool.read { database in
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        let free = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        return (pages - free) * 4096
      }
    }

    func close() throws { try pool.close() }
  }
#endif
