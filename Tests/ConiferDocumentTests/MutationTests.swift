import ConiferDocument
import Testing

@Suite struct `Writes to a document` {
  private static let database = Writes.database
  private static let path = Writes.path()

  private static func apply(_ mutation: Mutation, to document: Document) -> Document {
    mutation.applied(to: document, written: Writes.time(9))
  }

  /// The reference's table: what a write makes of each state.
  @Test func `each write on each state`() throws {
    let set = try Mutation.set(Self.path, [("a", 1)], in: Self.database)
    let merge = try Mutation.merge(Self.path, [("a", 1)], in: Self.database)
    let update = try Mutation.update(Self.path, [(Writes.field("a"), 1)], in: Self.database)
    let delete = try Mutation.delete(Self.path)
    let verify = try Mutation.verify(Self.path, if: .exists(true))
    let found = Writes.found(["b": 2])
    let bases = [found, Writes.missing, Writes.unseen, Writes.unknown]
    for base in bases {
      #expect(Self.apply(set, to: base).fields == ["a": 1])
      #expect(Self.apply(merge, to: base).fields == (base == found ? ["a": 1, "b": 2] : ["a": 1]))
      #expect(Self.apply(delete, to: base).state == .missing)
      #expect(Self.apply(verify, to: base) == base)
      for written in [set, merge, delete] {
        let result = Self.apply(written, to: base)
        #expect(result.version == .zero)
        #expect(result.writes == .pending)
        #expect(result.readTime == base.readTime)
      }
    }
    #expect(Self.apply(update, to: found).fields == ["a": 1, "b": 2])
    for base in bases.dropFirst() { #expect(Self.apply(update, to: base) == base) }
  }

  @Test func `preconditions hold or the document stays`() {
    let (found, missing) = (Writes.found([:]), Writes.missing)
    #expect(Precondition.none.holds(for: missing))
    #expect(Precondition.exists(true).holds(for: found))
    #expect(!Precondition.exists(true).holds(for: missing))
    #expect(!Precondition.exists(true).holds(for: Writes.unknown))
    #expect(Precondition.exists(false).holds(for: missing))
    #expect(!Precondition.exists(false).holds(for: found))
    #expect(Precondition.updateTime(Writes.time(7)).holds(for: found))
    #expect(!Precondition.updateTime(Writes.time(8)).holds(for: found))
    #expect(!Precondition.updateTime(Writes.time(7)).holds(for: missing))
  }

  @Test func `a merge touches leaves: empty maps and arrays are such`() throws {
    let merge = try Mutation.merge(
      Self.path,
      [
        ("a", ["b": 1, "gone": .delete, "time": .serverTimestamp]), ("empty", [:]),
        ("list", [1]), ("count", .increment(2)),
      ], in: Self.database)
    guard case .patch(_, let mask, let transforms) = merge.change else {
      Issue.record("\(merge)")
      return
    }
    #expect(mask.paths.map(\.canonical) == ["a.b", "a.gone", "empty", "list"])
    #expect(transforms.map(\.field.canonical) == ["a.time", "count"])
    let base = Writes.found([
      "a": ["b": 0, "c": 2, "gone": 3], "empty": ["x": 1], "list": [5, 6], "count": 5, "z": 1,
    ])
    #expect(
      Self.apply(merge, to: base).fields == [
        "a": ["b": 1, "c": 2, "time": .serverTimestamp(written: Writes.time(9), previous: nil)],
        "empty": [:], "list": [1], "count": 7, "z": 1,
      ])
  }

  @Test func `an empty merge makes an empty document and touches another`() throws {
    let merge = try Mutation.merge(Self.path, [], in: Self.database)
    #expect(Self.apply(merge, to: Writes.missing).fields == [:])
    let touched = Self.apply(merge, to: Writes.found(["a": 1]))
    #expect(touched.fields == ["a": 1])
    #expect(touched.writes == .pending)
  }

  @Test func `a merge of named fields takes no others`() throws {
    let data: [(String, WriteValue)] = [
      ("a", ["b": 1, "c": 2]), ("n", .increment(1)), ("m", .increment(1)), ("gone", .delete),
      ("whole", ["x": 1]),
    ]
    let merge = try Mutation.merge(
      Self.path, data, fields: ["a.b", "n", "gone", "whole"].map(Writes.field), in: Self.database)
    let base = Writes.found(["a": ["b": 0, "c": 0], "n": 1, "m": 1, "gone": 1, "whole": ["y": 1]])
    #expect(
      Self.apply(merge, to: base).fields
        == ["a": ["b": 1, "c": 0], "n": 2, "m": 1, "whole": ["x": 1]])
    let error = #expect(throws: DocumentError.self) {
      try Mutation.merge(Self.path, data, fields: [Writes.field("q")], in: Self.database)
    }
    #expect(error?.code == .invalidWrite)
  }

  @Test func `of fields within each other a merge takes the outer one`() throws {
    let data: [(String, WriteValue)] = [("a", ["b": ["c": 1], "t": .increment(1)]), ("d", 2)]
    let merge = try Mutation.merge(
      Self.path, data, fields: ["a.b.c", "a.b", "a", "d"].map(Writes.field), in: Self.database)
    let outer = try Mutation.merge(
      Self.path, data, fields: ["a", "d"].map(Writes.field), in: Self.database)
    #expect(merge == outer)
    #expect(
      Self.apply(merge, to: Writes.found(["a": ["b": ["x": 1], "y": 1], "d": 0])).fields
        == ["a": ["b": ["c": 1], "t": 1], "d": 2])
    #expect(try merge.checked(in: Self.database) == merge)
  }

  @Test func `an update replaces maps, deletes and transforms fields`() throws {
    let update = try Mutation.update(
      Self.path,
      [
        (Writes.field("a"), ["b": 1]), (Writes.field("m.n"), .delete),
        (Writes.field("t"), .arrayUnion([2])),
        (Writes.field("new.deep"), true),
      ], in: Self.database)
    let base = Writes.found(["a": ["c": 1], "m": ["n": 1], "t": [1], "new": 5])
    #expect(
      Self.apply(update, to: base).fields
        == ["a": ["b": 1], "m": [:], "t": [1, 2], "new": ["deep": true]])
  }

  @Test func `increments of a set count from nothing, as on the server`() throws {
    let set = try Mutation.set(
      Self.path, [("n", .increment(2)), ("t", .serverTimestamp)], in: Self.database)
    #expect(
      Self.apply(set, to: Writes.found(["n": 5, "t": 1, "x": 1])).fields
        == ["n": 2, "t": .serverTimestamp(written: Writes.time(9), previous: 1)])
  }

  @Test func `an increment of what the server has not told counts upon what it tells`() throws {
    let increment = try Mutation.merge(Self.path, [("n", .increment(1))], in: Self.database)
    func batch(over document: Document) -> MutationBatch {
      MutationBatch([increment], written: Writes.time(9)) { _ in document }
    }
    for nothing in [Writes.unseen, Writes.unknown] {
      let first = batch(over: nothing)
      #expect(first.bases.isEmpty)
      let shown = first.applied(to: nothing)
      #expect(shown.fields == ["n": 1])
      // What the device shows by itself is no word of the server.
      let second = batch(over: shown)
      #expect(second.bases.isEmpty)
      let overlay = Overlay(of: [first, second], over: Writes.found(["n": 100]))
      #expect(overlay?.applied(to: Writes.found(["n": 100])).fields == ["n": 102])
    }
    // The server's word may hold the increment already.
    let upon = batch(over: Writes.found(["n": 100]))
    #expect(upon.bases.count == 1)
    #expect(upon.applied(to: Writes.found(["n": 101])).fields == ["n": 101])
  }

  @Test func `the parts of a batch do to each document what the batch does`() throws {
    let paths = [Self.path, Writes.path("c/e"), Self.path, Writes.path("c/f")]
    let writes = try paths.enumerated().map {
      try Mutation.merge($1, [("n", .increment(1)), ("p\($0)", 1)], in: Self.database)
    }
    let batch = MutationBatch(writes, written: Writes.time(9)) {
      Document($0, .found(["n": 5]), readTime: Writes.time(1))
    }
    let parts = batch.parts
    #expect(Set(parts.keys) == Set(paths))
    for path in paths {
      let document = Document(path, .found(["n": 6]), readTime: Writes.time(2))
      #expect(parts[path]?.applied(to: document) == batch.applied(to: document))
    }
  }

  @Test func `timestamps are cut to microseconds`() throws {
    let precise = try Timestamp(seconds: 1, nanoseconds: 1_234_567)
    let value = DocumentValue.timestamp(precise)
    let cut = DocumentValue.timestamp(precise.truncated)
    #expect(cut != value)
    let set = try Mutation.set(
      Self.path,
      [
        ("a", .value(value)), ("b", .value([value])), ("c", .value(["d": value])),
        ("u", .arrayUnion([value])),
      ], in: Self.database)
    #expect(
      Self.apply(set, to: Writes.missing).fields == [
        "a": cut, "b": [cut], "c": ["d": cut], "u": [cut],
      ])
  }

  @Test func `an accepted write has the server's version and results`() throws {
    let (time, later) = (Writes.time(20), Writes.time(21))
    let set = try Mutation.set(
      Self.path, [("a", 1), ("n", .increment(1)), ("l", .arrayUnion([1]))], in: Self.database)
    let done = try set.acknowledged(
      on: Writes.found(["l": [0]]), updateTime: time, commitTime: later, results: [8, nil])
    #expect(done.fields == ["a": 1, "n": 8, "l": [1]])
    #expect((done.version, done.readTime) == (time, later))
    #expect(done.writes == .committed)
    let update = try Mutation.update(Self.path, [(Writes.field("a"), 1)], in: Self.database)
    #expect(
      try update.acknowledged(on: Writes.found(["b": 1]), updateTime: time, commitTime: later)
        .fields
        == ["a": 1, "b": 1])
    let blind = try update.acknowledged(on: Writes.unseen, updateTime: time, commitTime: later)
    #expect(blind.state == .unknown)
    #expect(blind.version == time)
    let gone = try Mutation.delete(Self.path).acknowledged(
      on: Writes.found([:]), updateTime: nil, commitTime: later)
    #expect((gone.state, gone.version) == (.missing, later))
    let error = #expect(throws: DocumentError.self) {
      try set.acknowledged(on: Writes.missing, updateTime: time, commitTime: later, results: [1])
    }
    #expect(error?.code == .invalidAnswer)
  }

  @Test func `documents never go back`() {
    let old = Writes.found(["a": 1], version: 5)
    let new = Writes.found(["a": 2], version: 6)
    #expect(Writes.unseen.isReplaced(by: old))
    #expect(old.isReplaced(by: new))
    #expect(!new.isReplaced(by: old))
    #expect(!old.isReplaced(by: old))
    let committed = Document(
      Writes.path(), .found([:]), version: Writes.time(5), writes: .committed)
    #expect(committed.isReplaced(by: old))
  }
}
