internal import ConiferKeyValue

/// One of the states in which a power cut may leave a disk.
enum DiskImage: Hashable, Sendable, CustomStringConvertible {
  /// Nothing is lost.
  case everything
  /// Nothing is there that did not have to be.
  case durable
  /// Every change that is not durable is kept, dropped or torn by chance.
  case random(UInt64)

  /// Those that are tried at a point unless told.
  static func some(at point: Int) -> [DiskImage] {
    [.everything, .durable, .random(UInt64(point)), .random(UInt64(point) + 1_000_000)]
  }

  /// The spelling in a command: `all`, `durable`, `r7`.
  var description: String {
    switch self {
    case .everything: "all"
    case .durable: "durable"
    case .random(let seed): "r\(seed)"
    }
  }

  /// The image with a spelling.
  init?(_ text: Substring) {
    switch text {
    case "all": self = .everything
    case "durable": self = .durable
    default:
      guard text.hasPrefix("r"), let seed = UInt64(text.dropFirst()) else { return nil }
      self = .random(seed)
    }
  }
}

extension SimulatedDisk {
  /// Writes an image of the disk into an empty directory.
  func write(_ image: DiskImage, to directory: String) throws {
    var chance = Chance(image)
    var left = names
    for change in pending where chance.keeps() { left.apply(change) }
    for (path, target) in left.reachable {
      switch target {
      case .directory: try System.makeDirectory(directory + "/" + path)
      case .file(let number):
        // The same chance for a file whatever names are kept.
        var own = Chance(image, number)
        try System.write(content(files[number], &own), to: directory + "/" + path)
      }
    }
  }

  private func content(_ file: File, _ chance: inout Chance) -> FileBytes {
    var content = file.content
    for change in file.pending {
      if case .durable = change {
        content.apply(change)
        continue
      }
      if chance.keeps() {
        if case .write(let offset, let bytes) = change {
          for part in chance.torn(bytes.count, at: offset) {
            content.write(bytes, part, at: offset + part.lowerBound)
          }
        } else {
          content.apply(change)
        }
      }
      // The length may have come along without the bytes.
      if case .write(let offset, let bytes) = change, content.length < offset + bytes.count,
        chance.lengthens()
      {
        content.resize(offset + bytes.count)
      }
    }
    return content
  }
}

/// What happens to each change in an image.
private struct Chance {
  private let image: DiskImage
  private var random: SeededRandom
  /// Of 100 changes about so many are kept: few, half or most.
  private let share: Int

  init(_ image: DiskImage, _ file: Int = -1) {
    self.image = image
    var seed: UInt64 = 0
    if case .random(let number) = image { seed = number }
    var choice = SeededRandom(seed: seed)
    share = choice.pick([10, 50, 50, 90])
    random = SeededRandom(seed: seed &* 1_000_003 &+ UInt64(file + 2))
  }

  mutating func keeps() -> Bool {
    switch image {
    case .everything: true
    case .durable: false
    case .random: random.chance(share)
    }
  }

  mutating func lengthens() -> Bool {
    if case .random = image { random.chance(50) } else { false }
  }

  /// The parts of a kept write that arrive, cut where sectors of the file begin.
  mutating func torn(_ count: Int, at offset: Int) -> [Range<Int>] {
    guard case .random = image, random.chance(40) else { return [0..<count] }
    var cuts = [0]
    var next = 512 - offset % 512
    while next < count {
      cuts.append(next)
      next += 512
    }
    cuts.append(count)
    let sectors = zip(cuts, cuts.dropFirst()).map { $0..<$1 }
    let middle = Int.random(in: 0...sectors.count, using: &random)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return Array(sectors[..<middle])
    case 1: return Array(sectors[middle...])
    default:
      var kept: [Range<Int>] = []
      for sector in sectors where random.chance(50) { kept.append(sector) }
      return kept
    }
  }
}
