internal import ConiferKeyValue

/// One way in which the files of a store were damaged.
struct Mutation: Sendable, CustomStringConvertible {
  enum Kind: Sendable {
    /// The file ends at the position.
    case cut
    /// A bit of the byte at the position is flipped.
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

  /// Every length of every file, or a sample of them that includes both ends of each file. Zeros at
  /// the end, which are only allocated ahead, get few samples.
  static func cuts(_ files: [StoreFile], atMost count: Int, seed: UInt64) -> [Mutation] {
    let lengths = files.flatMap { file in
      (0..<file.used).map { Mutation(file: file.name, position: $0, kind: .cut) }
    }
    let ends = files.flatMap { file in
      [file.used, (file.used + file.bytes.count) / 2, file.bytes.count - 1]
        .filter { $0 >= file.used && $0 < file.bytes.count }
        .map { Mutation(file: file.name, position: $0, kind: .cut) }
    }
    let starts = files.flatMap { file in
      [0, 1, file.used / 2, file.used - 1].filter { (0..<file.used).contains($0) }
        .map { Mutation(file: file.name, position: $0, kind: .cut) }
    }
    guard lengths.count + ends.count > count else { return lengths + ends }
    var random = SeededRandom(seed: seed)
    let sampled = (0..<max(0, count - ends.count - starts.count)).map { _ in random.pick(lengths) }
    return ends + starts + sampled
  }

  /// Sampled bits: every file gets some, most of them in bytes that are not zero.
  static func flips(_ files: [StoreFile], atMost count: Int, seed: UInt64) -> [Mutation] {
    let total = max(1, files.reduce(0) { $0 + $1.written.count })
    var random = SeededRandom(seed: seed)
    return files.filter { !$0.bytes.isEmpty }.flatMap { file in
      let written = file.written
      return (0..<max(6, count * written.count / total)).map { _ in
        let anywhere = Int.random(in: 0..<file.bytes.count, using: &random)
        let position = written.isEmpty || random.one(in: 8) ? anywhere : random.pick(written)
        return Mutation(
          file: file.name, position: position,
          kind: .flip(bit: Int.random(in: 0..<8, using: &random)))
      }
    }
  }
}

/// A file of a store, by its path inside the store's directory.
struct StoreFile: Sendable {
  let name: String
  let bytes: Bytes

  /// The length without zeros at the end.
  var used: Int { (bytes.lastIndex { $0 != 0 } ?? -1) + 1 }
  /// The positions of bytes that are not zero.
  var written: [Int] { bytes.indices.filter { bytes[$0] != 0 } }

  /// All files below a directory.
  static func all(in directory: String, _ prefix: String = "") -> [StoreFile] {
    System.names(in: directory).flatMap { name -> [StoreFile] in
      let path = directory + "/" + name
      guard !System.isDirectory(path) else { return all(in: path, prefix + name + "/") }
      return (try? System.content(of: path)).map { [StoreFile(name: prefix + name, bytes: $0)] }
        ?? []
    }
  }

  /// Writes files into a directory, one of them damaged.
  static func write(_ files: [StoreFile], to directory: String, _ mutation: Mutation) throws {
    System.removeTree(directory)
    try? System.makeDirectory(directory)
    for file in files {
      var folder = directory
      for part in file.name.split(separator: "/").dropLast() {
        folder += "/" + part
        try? System.makeDirectory(folder)
      }
      let bytes = file.name == mutation.file ? mutation.apply(to: file.bytes) : file.bytes
      try System.write(bytes, to: directory + "/" + file.name)
    }
  }
}
