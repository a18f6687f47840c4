import ConiferTree
import TestSupport

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Files and helpers that the JSON tests share.
enum JSONSamples {
  /// The folder of shared data beside the package, or beside the folder of its worktrees.
  static let folder: String? = {
    let root = #filePath.split(separator: "/").dropLast(4)
    for up in 1...2 {
      let path = "/" + root.dropLast(up).joined(separator: "/") + "/shared/data"
      if access(path, R_OK) == 0 { return path }
    }
    return nil
  }()

  static func read(_ name: String) -> [UInt8]? {
    guard let folder, let file = fopen(folder + "/" + name, "rb") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }

  static func names(in subfolder: String) -> [String] {
    guard let folder else { return [] }
    return Scratch.names(folder + "/" + subfolder).filter { $0.hasSuffix(".json") }
  }

  static func events(_ text: String) throws(JSONError) -> [JSONEvent] {
    try events(Array(text.utf8))
  }

  static func events(_ bytes: [UInt8]) throws(JSONError) -> [JSONEvent] {
    var reader = JSONReader(bytes: bytes)
    var events: [JSONEvent] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  /// Reads in chunks whose sizes `size` gives.
  static func events(
    _ bytes: [UInt8], chunks size: @escaping () -> Int
  ) throws(JSONError) -> [JSONEvent] {
    var rest = bytes[...]
    var reader = JSONReader { buffer in
      let count = min(size(), rest.count)
      buffer.append(contentsOf: rest.prefix(count))
      rest = rest.dropFirst(count)
      return !rest.isEmpty
    }
    var events: [JSONEvent] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  static func error(_ bytes: [UInt8]) -> JSONError? {
    do throws(JSONError) {
      _ = try events(bytes)
      return nil
    } catch {
      return error
    }
  }

  static func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

  static func text(_ events: [JSONEvent], pretty: Bool = false) -> String {
    var writer = JSONWriter(pretty: pretty)
    for event in events { writer.write(event) }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
