internal import ConiferKeyValue

/// A state in which a power cut may leave a disk.
enum DiskImage: Hashable, Sendable, CustomStringConvertible {
  /// Nothing is lost.
  case everything
  /// Everything is lost that may be lost.
  case durable
  /// Every change that is not durable is kept, dropped or torn at random.
  case random(UInt64)

  /// The images that are tried at a point by default.
  static func some(at point: Int) -> [DiskImage] {
    [.everything, .durable, .random(UInt64(point)), .random(UInt64(point) + 1_000_000)]
  }

  /// The image as a command names it: `all`, `durable`, `r7`.
  var description: String {
    switch self {
    case .everything: "all"
    case .durable: "durable"
    case .random(let seed): "r\(seed)"
    }
  }

  /// The image that a command names.
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
    var chance = ChangeSampler(image)
    var left = names
    for change in pending where chance.keeps() { left.apply(change) }
    for (path, target) in left.reachable {
      switch target {
      case .directory: try System.makeDirectory(directory + "/" + path)
      case .file(let number):
        // A generator for each file, so that its content does not depend on which names are kept.
        var own = ChangeSampler(image, number)
        try System.write(content(files[number], &own), to: directory + "/" + path)
      }
    }
  }

  private func content(_ file: File, _ chance: inout ChangeSampler) -> FileBytes {
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
      // The length may be durable without the bytes.
      if case .write(let offset, let bytes) = change, content.length < offset + bytes.count,
        chance.lengthens()
      {
        content.resize(offset + bytes.count)
      }
    }
    return content
  }
}

/// Chooses which changes are kept in an image.
private struct ChangeSampler {
  private let image: DiskImage
  private var random: SeededRandom
  /// The percentage of changes that are kept: few, half or most.
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

  /// The parts of a kept write that reach the disk, cut at sector boundaries of the file.
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
