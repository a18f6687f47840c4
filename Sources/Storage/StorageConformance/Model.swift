internal import ConiferKeyValue

/// The expected content of a store, in sorted arrays.
struct Model: Sendable {
  struct Row: Sendable, Equatable {
    var key: Bytes
    var value: Bytes
  }

  private var spaces: [UInt8: [Row]] = [:]

  subscript(space: Space) -> [Row] { spaces[space.id] ?? [] }

  /// The index of the first row at or after a key.
  private static func index(_ rows: [Row], _ key: Bytes) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if bytesPrecede(rows[middle].key, key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  mutating func apply(_ batch: Batch) {
    for edit in batch.edits {
      switch edit {
      case .put(let space, let key, let value):
        var rows = self[space]
        spaces[space.id] = nil
        let i = Self.index(rows, key)
        if i < rows.count, rows[i].key == key {
          rows[i].value = value
        } else {
          rows.insert(Row(key: key, value: value), at: i)
        }
        spaces[space.id] = rows
      case .delete(let space, let key):
        spaces[space.id]?.removeAll { $0.key == key }
      case .clear(let space, let from, let to):
        spaces[space.id]?.removeAll {
          !bytesPrecede($0.key, from) && bytesPrecede($0.key, to)
        }
      }
    }
  }

  func value(_ space: Space, _ key: Bytes) -> Bytes? {
    let rows = self[space]
    let i = Self.index(rows, key)
    return i < rows.count && rows[i].key == key ? rows[i].value : nil
  }

  /// The rows that a walk visits, with the steps that the closure returns.
  func walk(_ space: Space, _ origin: Origin, _ visit: (Row) -> Step) -> [Row] {
    let rows = self[space]
    var visited: [Row] = []
    let ascends: Bool
    var i: Int
    func before(_ key: Bytes) -> Int {
      let i = Self.index(rows, key)
      return i < rows.count && rows[i].key == key ? i : i - 1
    }
    switch origin {
    case .atOrAfter(let key): (ascends, i) = (true, Self.index(rows, key))
    case .atOrBefore(let key): (ascends, i) = (false, before(key))
    }
    while rows.indices.contains(i) {
      visited.append(rows[i])
      switch visit(rows[i]) {
      case .stop: return visited
      case .next: i += ascends ? 1 : -1
      case .jump(let key):
        i = ascends ? max(i + 1, Self.index(rows, key)) : min(i - 1, before(key))
      }
    }
    return visited
  }

  /// Fails unless a view holds exactly this in some spaces, walked up and down.
  func compare(_ view: any OrderedView, _ checked: [Space], _ when: String) throws {
    for space in checked {
      let rows = self[space]
      try Self.requireSame(try view.rows(space), rows, "\(when), space \(space.id) walked up")
      let down = try view.rows(space, .atOrBefore(Bytes(repeating: 0xFF, count: 600)))
      try Self.requireSame(down, rows.reversed(), "\(when), space \(space.id) walked down")
      for row in rows.prefix(50) {
        try require(
          try view.value(space, row.key) == row.value,
          "\(when): get of \(text(row.key)) in space \(space.id) is not what was put")
        // Its neighbours: what it begins with, and what begins with it.
        for near in [Bytes(row.key.dropLast()), row.key + [0]] where value(space, near) == nil {
          try require(
            try view.value(space, near) == nil,
            "\(when): get of \(text(near)) in space \(space.id), which is absent, gives a value")
        }
      }
      var keys: [(key: Bytes, size: Int)] = []
      try view.walkKeys(space, .atOrAfter([])) { key, size in
        keys.append((Bytes(key), size))
        return .next
      }
      try require(
        keys.elementsEqual(rows) { $0.key == $1.key && $0.size == $1.value.count },
        "\(when): the keys and sizes of space \(space.id) are not those of its rows")
    }
  }

  /// Fails unless two lists of rows are equal, naming the first difference.
  static func requireSame(_ found: [Row], _ expected: [Row], _ when: String) throws {
    if found == expected { return }
    let i = zip(found, expected).prefix { $0 == $1 }.count
    func name(_ rows: [Row]) -> String {
      guard i < rows.count else { return "the end" }
      return "\(text(rows[i].key)) = \(text(rows[i].value))"
    }
    throw ConformanceFailure(
      "\(when): row \(i) is \(name(found)), expected \(name(expected)); "
        + "\(found.count) rows, expected \(expected.count)")
  }
}

extension OrderedView {
  /// Copies of the rows that a walk visits.
  func rows(
    _ space: Space, _ origin: Origin = .atOrAfter([]), _ step: (Model.Row) -> Step = { _ in .next }
  ) throws -> [Model.Row] {
    var rows: [Model.Row] = []
    try walk(space, origin) { key, value in
      let row = Model.Row(key: Bytes(key), value: Bytes(value))
      rows.append(row)
      return step(row)
    }
    return rows
  }
}

/// A byte string for a message: hex, shortened.
func text(_ bytes: Bytes) -> String {
  if bytes.isEmpty { return "(empty)" }
  let hex = Bytes(bytes.prefix(16)).hex
  return bytes.count > 16 ? "\(hex)… (\(bytes.count) bytes)" : hex
}
