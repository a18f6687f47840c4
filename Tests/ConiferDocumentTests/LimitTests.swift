import ConiferDocument
import Testing

@Suite struct `Limits of what is written` {
  private static func set(
    _ data: [(String, WriteValue)], at path: DocumentPath = Writes.path()
  ) throws -> Mutation {
    try Mutation.set(path, data, in: Writes.database)
  }

  private static func code(_ body: () throws -> Mutation) -> DocumentError.Code? {
    do {
      _ = try body()
      return nil
    } catch {
      guard let error = error as? DocumentError else { return nil }
      // Each message says what to do.
      #expect(error.message.contains(". "), "\(error)")
      return error.code
    }
  }

  /// A value within so many maps and arrays, by turns.
  private static func nested(_ levels: Int) -> DocumentValue {
    (0..<levels).reduce(1) { value, level in level % 2 == 0 ? ["m": value] : [value] }
  }

  @Test func `maps and arrays are nested 20 levels deep, no more`() {
    #expect(Self.code { try Self.set([("a", .value(Self.nested(20)))]) } == nil)
    #expect(Self.code { try Self.set([("a", .value(Self.nested(21)))]) } == .tooDeep)
    let deep = (0..<20).reduce(WriteValue.serverTimestamp) { value, _ in ["m": value] }
    #expect(Self.code { try Self.set([("a", deep)]) } == nil)
    #expect(Self.code { try Self.set([("a", ["m": deep])]) } == .tooDeep)
    #expect(Self.code { try Self.set([("a", .arrayUnion([Self.nested(19)]))]) } == nil)
    #expect(Self.code { try Self.set([("a", .arrayUnion([Self.nested(21)]))]) } == .tooDeep)
    let path = Array(repeating: "m", count: 21)
    func update(_ names: [String]) throws -> Mutation {
      try Mutation.update(Writes.path(), [(try FieldPath(names), 1)], in: Writes.database)
    }
    #expect(Self.code { try update(path) } == nil)
    #expect(Self.code { try update(path + ["m"]) } == .tooDeep)
    // However deep, it is an error and no end of the stack.
    let abyss = (0..<5_000).reduce(WriteValue.value(1)) { value, _ in .array([value]) }
    #expect(Self.code { try Self.set([("a", abyss)]) } == .tooDeep)
  }

  @Test func `an array holds no array`() {
    #expect(Self.code { try Self.set([("a", [[1]])]) } == .invalidValue)
    #expect(Self.code { try Self.set([("a", .value([[1]]))]) } == .invalidValue)
    #expect(Self.code { try Self.set([("a", .value([["m": [1]]]))]) } == nil)
    #expect(Self.code { try Self.set([("a", .value([["m": [[1]]]]))]) } == .invalidValue)
    #expect(Self.code { try Self.set([("a", .arrayUnion([[1]]))]) } == .invalidValue)
    #expect(Self.code { try Self.set([("a", .value([.vector([1])]))]) } == nil)
  }

  @Test func `texts and bytes`() {
    let size = DocumentLimits.valueSize
    let fits = String(repeating: "é", count: size / 2) + (size % 2 == 1 ? "a" : "")
    #expect(Self.code { try Self.set([("a", .value(.string(fits)))]) } == nil)
    #expect(Self.code { try Self.set([("a", .value(.string(fits + "a")))]) } == .valueTooLarge)
    let bytes = [UInt8](repeating: 0, count: size)
    #expect(Self.code { try Self.set([("a", .value(.bytes(bytes)))]) } == nil)
    #expect(Self.code { try Self.set([("a", .value(.bytes(bytes + [0])))]) } == .valueTooLarge)
    let vector = [Double](repeating: 0, count: 2048)
    #expect(Self.code { try Self.set([("a", .value(.vector(vector)))]) } == nil)
    #expect(Self.code { try Self.set([("a", .value(.vector(vector + [0])))]) } == .valueTooLarge)
  }

  @Test func `a document has a mebibyte as the service counts it`() throws {
    // The name: 2 + 2 and 16; the fields: 32 and 2 for each name.
    #expect(Writes.path().size == 20)
    let rest = (1 << 20) - 20 - 32 - 4 - 1_000_000
    func write(_ size: Int) throws -> Mutation {
      try Self.set([
        ("a", .value(.bytes([UInt8](repeating: 0, count: 1_000_000)))),
        ("b", .value(.bytes([UInt8](repeating: 0, count: size)))),
      ])
    }
    #expect(Self.code { try write(rest) } == nil)
    #expect(Self.code { try write(rest + 1) } == .documentTooLarge)
    // A patch may be small and its result too large.
    let large = try write(rest).applied(to: Writes.missing, written: .zero)
    try large.validateSize()
    let patch = try Mutation.merge(Writes.path(), [("c", 1)], in: Writes.database)
    #expect(throws: DocumentError.self) {
      try patch.applied(to: large, written: .zero).validateSize()
    }
  }

  @Test func `what transforms add counts as far as it is certain`() throws {
    let (x, y) = (
      DocumentValue.string(String(repeating: "x", count: 600_000)),
      DocumentValue.string(String(repeating: "y", count: 600_000))
    )
    func update(_ data: (String, WriteValue)...) throws -> Mutation {
      try Mutation.update(
        Writes.path(), data.map { (Writes.field($0.0), $0.1) }, in: Writes.database)
    }
    #expect(Self.code { try update(("a", .arrayUnion([x, y]))) } == .documentTooLarge)
    #expect(
      Self.code { try update(("a.b", .arrayUnion([x])), ("c", .value(y))) } == .documentTooLarge)
    #expect(Self.code { try Self.set([("a", .arrayUnion([x, y]))]) } == .documentTooLarge)
    // One that repeats is added once, and what is removed adds nothing.
    #expect(Self.code { try update(("a", .arrayUnion([x, x]))) } == nil)
    #expect(Self.code { try update(("a", .arrayRemove([x, y]))) } == nil)
    #expect(Self.code { try update(("a", .arrayUnion([x])), ("b", .arrayRemove([y]))) } == nil)
  }

  @Test func `a request has 10,000 writes and 10 MiB, no more`() throws {
    func code(_ writes: [Mutation]) -> DocumentError.Code? {
      do {
        try MutationBatch(writes, written: .zero) { Document($0, .unseen) }.validateSize()
        return nil
      } catch {
        return error.code
      }
    }
    let deletions = try (0...DocumentLimits.writes).map {
      try Mutation.delete(Writes.path("c/\($0)"))
    }
    #expect(code(Array(deletions.dropLast())) == nil)
    #expect(code(deletions) == .requestTooLarge)
    let large = try Self.set([
      ("a", .value(.bytes([UInt8](repeating: 0, count: 900_000))))
    ])
    #expect(code(Array(repeating: large, count: 11)) == nil)
    #expect(code(Array(repeating: large, count: 12)) == .requestTooLarge)
    // A null counts a byte of its document, and takes four in a request.
    let nulls = try Self.set([("a", .value(.array(Array(repeating: .null, count: 900_000))))])
    #expect(code([nulls, nulls]) == nil)
    #expect(code([nulls, nulls, nulls]) == .requestTooLarge)
    let union = try Mutation.merge(
      Writes.path(), [("a", .arrayRemove(Array(repeating: .bytes([]), count: 3_000_000)))],
      in: Writes.database)
    #expect(code([union]) == .requestTooLarge)
  }

  @Test func `sizes are the service's`() throws {
    let path = try DocumentPath("users/jeff/tasks/my_task_id")
    #expect(path.size == 44)
    let fields: MapValue = [
      "type": "Personal", "done": false, "priority": 1, "description": "Learn Cloud Firestore",
    ]
    #expect(path.size + fields.size == 147)
    #expect(try DocumentPath("c/__id7__").size == 16 + 2 + 8)
    #expect(
      DocumentValue.array([nil, true, 1, 1.5, "é", .bytes([1])]).size == 1 + 1 + 8 + 8 + 3 + 1)
    #expect(DocumentValue.vector([1, 2]).size == 16)
    #expect(DocumentValue.map(["a": 1]).size == 32 + 2 + 8)
  }

  @Test func `names of fields`() {
    let long = String(repeating: "n", count: 1500)
    #expect(Self.code { try Self.set([(long, 1)]) } == nil)
    #expect(Self.code { try Self.set([(long + "n", 1)]) } == .invalidFieldPath)
    #expect(Self.code { try Self.set([(String(long.dropLast(2)), ["n": 1])]) } == nil)
    #expect(Self.code { try Self.set([(String(long.dropLast()), ["n": 1])]) } == .invalidFieldPath)
    for name in ["", "__a__", "____", "__name__"] {
      #expect(Self.code { try Self.set([(name, 1)]) } == .invalidFieldPath, "\(name)")
      #expect(Self.code { try Self.set([("a", .value([[name: 1]]))]) } == .invalidFieldPath)
      #expect(Self.code { try Self.set([("a", [name: .serverTimestamp])]) } == .invalidFieldPath)
    }
    for name in ["__a", "a__", "___", "_", "a.b", "`"] {
      #expect(Self.code { try Self.set([(name, 1)]) } == nil, "\(name)")
    }
    #expect(
      Self.code {
        try Mutation.update(
          Writes.path(), [(try FieldPath(["a", "__b__"]), 1)], in: Writes.database)
      } == .invalidFieldPath)
  }

  @Test func `names of documents`() throws {
    func write(_ path: String) -> DocumentError.Code? {
      Self.code { try Self.set([], at: try DocumentPath(path)) }
    }
    let long = String(repeating: "n", count: 1500)
    #expect(write("c/" + long) == nil)
    #expect(write("c/n" + long) == .invalidPath)
    for id in [".", "..", "__a__", "____", "__id__", "__id07__"] {
      #expect(write("c/" + id) == .invalidPath, "\(id)")
      #expect(write(id + "/d") == .invalidPath, "\(id)")
    }
    #expect(write("c/__id7__") == nil)
    #expect(write("__id7__/d") == .invalidPath)
    #expect(write("c/...") == nil)
    let levels = Array(repeating: "c/d", count: 100).joined(separator: "/")
    #expect(write(levels) == nil)
    #expect(write(levels + "/c/d") == .invalidPath)
    let four = Array(repeating: long, count: 4).joined(separator: "/")
    let rest = "/n/" + String(long.prefix(6144 - four.utf8.count - 3))
    #expect(write(four + rest) == nil)
    #expect(write(four + rest + "n") == .invalidPath)
    #expect(throws: DocumentError.self) { try Mutation.delete(try DocumentPath("c/..")) }
  }

  @Test func `references are to documents of the same database`() {
    let path = Writes.path()
    func write(_ database: DatabaseID) -> DocumentError.Code? {
      Self.code { try Self.set([("a", .value([.reference(DocumentName(path, in: database))]))]) }
    }
    #expect(write(Writes.database) == nil)
    #expect(write(DatabaseID(project: "q")) == .invalidValue)
    #expect(write(DatabaseID(project: "p", database: "d")) == .invalidValue)
  }

  @Test func `instructions stand where they may`() throws {
    let field = Writes.field("a")
    let refused: [() throws -> Mutation] = [
      { try Self.set([("a", .delete)]) },
      { try Self.set([("a", ["b": .delete])]) },
      { try Self.set([("a", [.delete])]) },
      { try Self.set([("a", [.serverTimestamp])]) },
      { try Self.set([("a", [["b": .increment(1)]])]) },
      { try Mutation.merge(Writes.path(), [("a", [.delete])], in: Writes.database) },
      { try Mutation.update(Writes.path(), [(field, ["b": .delete])], in: Writes.database) },
      { try Mutation.update(Writes.path(), [(field, [.serverTimestamp])], in: Writes.database) },
      { try Mutation.update(Writes.path(), [(field, 1), (field, 2)], in: Writes.database) },
      {
        try Mutation.update(
          Writes.path(), [(field, 1), (Writes.field("a.b"), 2)], in: Writes.database)
      },
    ]
    for (number, write) in refused.enumerated() {
      #expect(Self.code(write) == .invalidWrite, "number \(number)")
    }
    #expect(
      Self.code { try Self.set([("a", .value(.serverTimestamp(written: .zero, previous: nil)))]) }
        == .invalidValue)
    #expect(
      Self.code { try Mutation.merge(Writes.path(), [("a", ["b": .delete])], in: Writes.database) }
        == nil)
    let transforms = (0..<500).map { ("n\($0)", WriteValue.increment(1)) }
    #expect(Self.code { try Self.set(transforms) } == nil)
    #expect(Self.code { try Self.set(transforms + [("x", .increment(1))]) } == .invalidWrite)
  }
}
