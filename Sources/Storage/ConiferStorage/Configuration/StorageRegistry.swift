public import ConiferKeyValue
import ConiferLeafStore

/// The kinds of backend that an app links, found by the scheme of a URL.
public struct StorageRegistry: Sendable {
  /// The kinds, in the order in which the app named them; the first is the app's default.
  package let kinds: [StorageKind]

  /// A registry, for example `StorageRegistry([.lmdb, .sqlite, .memory])`.
  public init(_ kinds: [StorageKind]) { self.kinds = kinds }

  /// The configuration that a URL describes; opens nothing.
  ///
  /// - Parameter url: for example `lmdb:///path?budget=10MB&compression=zstd:5&durability=power`.
  /// - Parameter defaults: the options that hold where the URL names none.
  /// - Throws: `invalid` for an unknown backend or option (the message names those there are) and
  ///   for a value that the option does not take; `unsupported` for a compression that was not built in.
  public func configuration(
    _ url: String, defaults: StorageOptions = StorageOptions()
  ) throws(StoreError) -> StorageConfiguration {
    let parsed = try StorageURL(url)
    guard let kind = kinds.first(where: { $0.name == parsed.scheme }) else {
      let names = kinds.map(\.name).joined(separator: ", ")
      throw StoreError(
        .invalid, "There is no backend \"\(parsed.scheme)\" here: use one of \(names).")
    }
    if kind.needsPath, parsed.path.isEmpty {
      throw StoreError(.invalid, "\(url) names no directory: write \(kind.name):///path.")
    }
    let known = StorageKind.commonOptions + kind.options
    for option in parsed.options where !known.contains(where: { $0.name == option.name }) {
      let names = known.map(\.name).joined(separator: ", ")
      throw StoreError(
        .invalid,
        "\(kind.name) has no option \"\(option.name)\": leave it out, or use one of \(names).")
    }
    return try kind.make(parsed, try StorageOptions(parsed, defaults: defaults))
  }
}

extension StorageOptions {
  /// The common options of a URL, over defaults.
  init(_ url: StorageURL, defaults: StorageOptions) throws(StoreError) {
    self = defaults
    if let text = url.value(of: "budget") { budget = try Self.budget(text) }
    if let text = url.value(of: "decoded-cache") {
      guard let bytes = Self.byteCount(text) else {
        throw Self.bad("decoded-cache", text, "bytes, such as 8MB, or 0 for none")
      }
      decodedCache = bytes
    }
    if let text = url.value(of: "compression") { compression = try Self.compression(text) }
    if let text = url.value(of: "durability") {
      switch text {
      case "strongest": durability = .strongest
      case "relaxed": durability = .relaxed
      case "process": durability = .process
      case "power": durability = .power
      default: throw Self.bad("durability", text, "relaxed, process, power or strongest")
      }
    }
    if let text = url.value(of: "role") {
      guard let role = StoreRole(rawValue: text) else {
        throw Self.bad("role", text, "cache or authority")
      }
      self.role = role
    }
  }

  private static func budget(_ text: String) throws(StoreError) -> Int? {
    if text == "unlimited" { return nil }
    let usage = "bytes of at least 1MB, such as 10MB, or unlimited"
    guard let bytes = byteCount(text) else { throw bad("budget", text, usage) }
    guard bytes >= smallestBudget else { throw bad("budget", text, usage) }
    return bytes
  }

  /// A number of bytes from text such as `10MB`, `1.5 GB`, `512 B` or `1048576`; nil when it is none.
  ///
  /// Units are of 1024; a fraction of a byte is left out.
  public static func byteCount(_ text: String) -> Int? {
    let units = [("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("B", 1), ("", 1)]
    let upper = text.uppercased()
    guard let unit = units.first(where: { upper.hasSuffix($0.0) }) else { return nil }
    var number = upper.dropLast(unit.0.count)
    if !unit.0.isEmpty, number.last == " " { number.removeLast() }
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
      let whole = Int(parts[0])
    else { return nil }
    let (bytes, overflow) = whole.multipliedReportingOverflow(by: unit.1)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return bytes }
    guard !unit.0.isEmpty, (1...9).contains(parts[1].utf8.count), let part = Int(parts[1]) else {
      return nil
    }
    let scale = repeatElement(10, count: parts[1].utf8.count).reduce(1, *)
    let (sum, isOver) = bytes.addingReportingOverflow(part * unit.1 / scale)
    return isOver ? nil : sum
  }

  private static func compression(_ text: String) throws(StoreError) -> Compression {
    if text == "none" { return .none }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.first == "zstd", parts.count <= 2,
      let level = parts.count == 2 ? Int(parts[1]) : Compression.standardLevel,
      (1...19).contains(level)
    else { throw bad("compression", text, "none, zstd, or zstd:LEVEL with a level from 1 to 19") }
    guard Codec.hasZstd else {
      throw StoreError(
        .unsupported,
        "This build has no zstd: use compression=none, or build with the trait Zstd.")
    }
    return .zstd(level: level)
  }

  private static func bad(_ name: String, _ text: String, _ usage: String) -> StoreError {
    StoreError(.invalid, "The option \(name) cannot be \"\(text)\": give \(usage).")
  }
}
