internal import ConiferKeyValue

extension Program {
  /// Runs the program on a new store beside the model.
  ///
  /// - Throws: ``ConformanceFailure`` at the first difference, or the store's own error.
  func run(_ factory: StoreFactory) throws {
    try Trial.runNow(factory) { trial in
      var store = try trial.open()
      defer { try? store.close() }
      var model = Model()
      var held: [(view: any OrderedView, model: Model)] = []
      var last = CommitID(rawValue: 0)
      for (line, instruction) in instructions.enumerated() {
        let when = "after line \(line)"
        switch instruction {
        case .apply(let edits, let level):
          let batch = Batch(edits)
          let id = try store.apply(batch, level)
          try require(
            id > last, .reusedID, "\(when), commit \(id.rawValue) follows \(last.rawValue)")
          last = id
          model.apply(batch)
          try store.reading { try model.compare($0, Self.spaces, when) }
        case .harden: try store.harden(last)
        case .tidy: _ = try store.tidy(.milliseconds(1))
        case .hold:
          if held.count < 16 { held.append((try store.view(), model)) }
        case .release:
          guard let entry = held.first else { continue }
          held.removeFirst()
          try Self.frozen(entry, "\(when), a held view")
          entry.view.close()
        case .walk(let space, let origin, let seed):
          let found = try store.reading { try $0.rows(space, origin, Self.steps(seed)) }
          try Model.requireSame(found, model.walk(space, origin, Self.steps(seed)), when)
        case .reopen, .suspend:
          for entry in held { try Self.frozen(entry, "before \(when)") }
          if case .suspend = instruction {
            try store.suspend()
            try store.resume()
          } else {
            try store.close()
            store = try trial.open()
            last = CommitID(rawValue: 0)
            if !factory.declared.isPersistent { model = Model() }
          }
          for entry in held {
            try expectCode([.closed, .suspended], "\(when), a view from before") {
              _ = try entry.view.value(.a, [])
            }
          }
          held = []
          try store.reading { try model.compare($0, Self.spaces, when) }
        }
      }
      for entry in held {
        try Self.frozen(entry, "a view held to the end")
      }
    }
  }

  /// Requires that a held view still shows its first state.
  private static func frozen(
    _ entry: (view: any OrderedView, model: Model), _ when: String
  ) throws {
    do {
      try entry.model.compare(entry.view, spaces, when)
    } catch let failure as ConformanceFailure {
      throw ConformanceFailure(.staleView, failure.message)
    }
  }

  /// Random steps of a walk; equal for the store and the model.
  private static func steps(_ seed: UInt64) -> (Model.Row) -> Step {
    var random = SeededRandom(seed: seed)
    let bytes: [UInt8] = [0, 1, 0x61, 0x7F, 0x80, 0xFF]
    return { row in
      switch Int.random(in: 0..<8, using: &random) {
      case 0: .jump((0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick(bytes) })
      case 1: .jump(row.key + [random.pick(bytes)])
      case 2: .jump(row.key)
      case 3 where random.one(in: 4): .stop
      default: .next
      }
    }
  }

  /// A shorter program that still fails, found by removing parts.
  ///
  /// - Parameters:
  ///   - attempts: the maximum number of runs, within 20 seconds.
  ///   - fails: whether a program fails.
  func shrunk(attempts: Int, _ fails: (Program) -> Bool) -> Program {
    var best = self
    var left = attempts
    let start = ContinuousClock.now
    func tried(_ smaller: Program) -> Bool {
      if ContinuousClock.now - start > .seconds(20) { left = 0 }
      guard left > 0 else { return false }
      left -= 1
      guard fails(smaller) else { return false }
      best = smaller
      return true
    }
    var size = max(1, instructions.count / 2)
    while left > 0 {
      var isSmaller = false
      var start = 0
      while start < best.instructions.count {
        var smaller = best
        smaller.instructions.removeSubrange(
          start..<min(start + size, smaller.instructions.count))
        if tried(smaller) { isSmaller = true } else { start += size }
      }
      if size > 1 { size /= 2 } else if !isSmaller { break }
    }
    // Then the edits of each batch, from its end.
    for line in best.instructions.indices {
      var part = 64
      while part > 0 {
        guard case .apply(let edits, let level) = best.instructions[line] else { break }
        var start = edits.count - part
        while start >= 0 {
          guard case .apply(var fewer, _) = best.instructions[line] else { break }
          if start + part <= fewer.count {
            fewer.removeSubrange(start..<(start + part))
            var smaller = best
            smaller.instructions[line] = .apply(fewer, level)
            _ = tried(smaller)
          }
          start -= part
        }
        part /= 2
      }
    }
    return best
  }
}
