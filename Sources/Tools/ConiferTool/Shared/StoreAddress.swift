import ConiferKeyValue
import ConiferStorage

/// A store's URL with the tool's knowledge of its kind, for commands that read files, or that must
/// override the store's own options.
struct StoreAddress {
  let text: String
  let kind: StorageKind
  /// The file with its key, if it is encrypted.
  let keyFile: String?
  let encryption: (any StoreLayer)?
  private let url: StorageURL

  /// Reads a URL.
  ///
  /// - Throws: as the registry and ``KeyFile``, and `usage` for a store without files.
  init(_ text: String, keyFile: String?, _ console: Console) throws {
    self.text = text
    self.keyFile = keyFile
    encryption = try KeyFile.encryption(in: keyFile, console)
    // Also checks the options.
    _ = try Tool.registry.configuration(text, defaults: StorageOptions(budget: nil))
    let url = try StorageURL(text)
    guard let kind = Tool.registry.kinds.first(where: { $0.name == url.scheme }),
      !url.path.isEmpty, !kind.files.isEmpty
    else {
      throw Failure.usage("\(text) keeps nothing in files: name a store that does.")
    }
    self.url = url
    self.kind = kind
  }

  /// The store's directory, without a slash at its end.
  var directory: String {
    var path = url.path
    while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  /// The absolute directory without links, as far as it exists.
  var absolute: String { Platform.absolute(directory) }

  /// The URL with some options replaced, and elsewhere if asked for.
  func url(
    at directory: String? = nil, _ changes: [(name: String, value: String)] = []
  ) -> String {
    let kept = url.options.filter { option in !changes.contains { $0.name == option.name } }
    let options = kept.map { ($0.name, $0.value) } + changes
    let query = options.map { "\($0.0)=\(Self.escaped($0.1))" }.joined(separator: "&")
    let path = Self.escaped(directory ?? self.directory)
    return "\(kind.name)://\(path)" + (query.isEmpty ? "" : "?\(query)")
  }

  /// The URL of a directory's store of the kind, without options.
  func plain(_ directory: String) -> String { "\(kind.name)://\(Self.escaped(directory))" }

  /// How a store is opened that nothing may be evicted from or dropped.
  func configuration(
    at directory: String? = nil, role: StoreRole? = nil, encryption: (any StoreLayer)? = nil
  ) throws -> StorageConfiguration {
    var changes = [(name: "budget", value: "unlimited")]
    if let role { changes.append(("role", role.rawValue)) }
    return try Tool.registry.configuration(
      url(at: directory, changes),
      defaults: StorageOptions(encryption: encryption ?? self.encryption))
  }

  /// Whether a store of this kind is there.
  ///
  /// - Throws: `foreign` when one of another kind is.
  func isPresent() throws -> Bool { try StoreOptions.isPresent(try configuration()) }

  /// Refuses when there is no store.
  func mustBePresent() throws {
    guard try isPresent() else {
      throw Failure.missing("no-store", "There is no store at \(directory).")
    }
  }

  /// Text as it stands in a store's URL, also between the quotes of a command.
  static func escaped(_ text: String) -> String {
    text.utf8.reduce(into: "") { text, byte in
      let isPlain =
        byte > 0x20 && byte < 0x7F
        && ![UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "'")]
          .contains(byte)
      let hex = String(byte, radix: 16)
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + hex
    }
  }
}
