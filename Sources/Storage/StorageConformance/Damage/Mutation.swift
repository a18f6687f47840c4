internal import ConiferKeyValue

/// One way in which the files of a store were damaged.
struct Mutation: Sendable, CustomStringConvertible {
  enum Kind: Sendable {
    /// The file ends at the position.
    case cut
    /// A bit of the byte at the position is the other one.
    case flip(bit: Int)
  }

  let file: String
  let position: Int
  let kind: Kind

  var description: String {
    switch kind {
    case .cut: "\(file) cut to \(position) bytes"
    case .flip(let bit): "bit \(bit) of byte \(position) of \(file) flipped"
    }
  }

  func apply(to bytes: Bytes) -> Bytes {
    switch kind {
    case .cut: return Bytes(bytes.prefix(position))
    case .flip(let bit):
      var changed = bytes
      if changed.indices.contains(position) { changed[position] ^= 1 << UInt8(bit) }
      return changed
    }
  }

  /// Every length of every file, or a sample of them that has the ends of each file.
  static func cuts(_ files: [StoreFile], atMost count: Int, seed: UInt64) -> [Mutation] {
    let lengths = files.flatMap { file in
      (0..<file.bytes.count).map { Mutation(file: file.name, position: $0, kind: .cut) }
    }
    guard lengths.count > count else { return lengths }
    let ends = files.flatMap { file in
      [0, 1, file.bytes.count / 2, file.bytes.count - 1].filter { file.bytes.indices.contains($0) }
        .map { Mutation(file: file.name, position: $0, kind: .cut) }
    }
    var random = SeededRandom(seed: seed)
    return ends + (0..<max(0, count - ends.count)).map { _ in random.pick(lengths) }
  }

  /// Sampled bits: every file gets some, most are where the bytes are.
  static func flips(_ files: [StoreFile], atMost count: Int, seed: UInt64) -> [Mutation] {
    let files = files.filter { !$0.bytes.isEmpty }
    let total = files.reduce(0) { $0 + $1.bytes.count }
    var random = SeededRandom(seed: seed)
    return files.flatMap { file in
      (0..<max(8, count * file.bytes.count / max(total, 1))).map { _ in
        Mutation(
          file: file.name, position: Int.random(in: 0..<file.bytes.count, using: &random),
          kind: .flip(bit: Int.random(in: 0..<8, using: &random)))
      }
    }
  }
}

/// A file of a store, by its path inside the store's directory.
struct StoreFile: Sendable {
  let name: String
  let bytes: Bytes

  /// All files below a directory.
  static func all(in directory: String, _ prefix: String = "") -> [StoreFile] {
    System.names(in: directory).sorted().flatMap { name -> [StoreFile] in
      let path = directory + "/" + name
      guard !System.isFolder(path) else { return all(in: path, prefix + name + "/") }
      return System.bytes(of: path).map { [StoreFile(name: prefix + name, bytes: $0)] } ?? []
    }
  }

  /// Makes a directory of files, with one of them damaged.
  static func write(_ files: [StoreFile], to directory: String, _ mutation: Mutation) throws {
    System.removeTree(directory)
    System.makeDirectoryIfMissing(directory)
    for file in files {
      var folder = directory
      for part in file.name.split(separator: "/").dropLast() {
        folder += "/" + part
        System.makeDirectoryIfMissing(folder)
      }
      let bytes = file.name == mutation.file ? mutation.apply(to: file.bytes) : file.bytes
      try System.write(bytes, to: directory + "/" + file.name)
    }
  }
}
