internal import ConiferKeyValue

/// A list of calls made from a seed, which a store must answer as the model does.
struct Program: Sendable {
  /// One call, or a few that belong together.
  enum Instruction: Sendable {
    case apply([Batch.Edit], Durability)
    case harden
    case tidy
    /// Opens a view and keeps it.
    case hold
    /// Compares the oldest kept view with its first state, and closes it.
    case release
    /// Walks with steps that the seed chooses.
    case walk(Space, Origin, UInt64)
    case reopen
    case suspend
  }

  static let spaces: [Space] = [.lowest, .a, .b, .highest]

  var instructions: [Instruction]

  init(_ instructions: [Instruction]) { self.instructions = instructions }

  /// The program of a seed.
  ///
  /// - Parameter lives: by which factor the store is opened anew and suspended more seldom than at
  ///   every tenth call.
  init(seed: UInt64, length: Int, lives: Int = 1, _ traits: StoreTraits) {
    var random = SeededRandom(seed: seed)
    instructions = (0..<length).map { _ in
      switch Int.random(in: 0..<20, using: &random) {
      case 0 where lives == 1 || random.one(in: lives): .reopen
      case 1 where lives == 1 || random.one(in: lives): .suspend
      case 2: .harden
      case 3: .tidy
      case 4, 5: .hold
      case 6: .release
      case 7...10: .walk(random.pick(Self.spaces), Self.origin(&random, traits), random.next())
      default:
        .apply(
          (0..<random.pick([0, 1, 1, 2, 3, 5, 20, 60])).map { _ in Self.edit(&random, traits) },
          random.pick(Durability.allCases.filter { $0 <= traits.strongest }))
      }
    }
  }

  /// A random edit.
  static func edit(_ random: inout SeededRandom, _ traits: StoreTraits) -> Batch.Edit {
    let space = random.pick(spaces)
    switch Int.random(in: 0..<10, using: &random) {
    case 0...6:
      let sizes = [0, 1, 8, 30, 100, 100, 300, 1500, 2014, 2015, 4080, 4081, 9000, 40_000]
      return .put(
        space, key: key(&random, traits),
        value: value(Int.random(in: 0..<256, using: &random), random.pick(sizes)))
    case 7, 8: return .delete(space, key: key(&random, traits))
    default:
      let from = key(&random, traits)
      return .clear(space, from: from, to: random.one(in: 3) ? from + [0] : key(&random, traits))
    }
  }

  private static func origin(_ random: inout SeededRandom, _ traits: StoreTraits) -> Origin {
    let key = key(&random, traits)
    return random.one(in: 2) ? .atOrAfter(key) : .atOrBefore(key)
  }

  /// One of a few keys, so that keys repeat: adversarial bytes, prefixes of each other, some very
  /// long.
  private static func key(_ random: inout SeededRandom, _ traits: StoreTraits) -> Bytes {
    let bytes: [UInt8] = [0, 1, 0x61, 0x7F, 0x80, 0xFF]
    var key = (0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick(bytes) }
    if random.one(in: 12) {
      let length = min(traits.longestKey, 600) - key.count
      key += Bytes(repeating: random.pick(bytes), count: max(0, length - random.pick([0, 1, 40])))
    }
    return key
  }
}

extension Program: CustomStringConvertible {
  /// The program, one instruction a line.
  var description: String {
    instructions.enumerated().map { "  \($0). \($1)" }.joined(separator: "\n")
  }
}

extension Program.Instruction: CustomStringConvertible {
  /// The instruction with its keys in hex and its values shortened.
  var description: String {
    switch self {
    case .apply(let edits, let level):
      let list = edits.map { edit in
        switch edit {
        case .put(let space, let key, let value):
          "put \(space.id):\(text(key)) = \(value.count) bytes"
        case .delete(let space, let key): "delete \(space.id):\(text(key))"
        case .clear(let space, let from, let to): "clear \(space.id):\(text(from)) ..< \(text(to))"
        }
      }
      return "apply .\(level) [\(list.joined(separator: ", "))]"
    case .walk(let space, .atOrAfter(let key), let seed):
      return "walk \(space.id) up from \(text(key)), steps of seed \(seed)"
    case .walk(let space, .atOrBefore(let key), let seed):
      return "walk \(space.id) down from \(text(key)), steps of seed \(seed)"
    case .harden: return "harden"
    case .tidy: return "tidy"
    case .hold: return "hold a view"
    case .release: return "release the oldest view"
    case .reopen: return "reopen"
    case .suspend: return "suspend and resume"
    }
  }
}
