package import ConiferKeyValue
internal import ConiferTree

/// A store named by a URL: `scheme://path?name=value&name=value`.
///
/// The path is everything between `://` and `?`, percent-decoded: `lmdb:///var/data` is absolute,
/// `lmdb://data` relative to the working directory.
public struct StorageURL: Hashable, Sendable {
  /// The kind of backend, in lower case.
  public let scheme: String
  /// The directory, empty when the URL names none.
  public let path: String
  /// The options in the order in which they stand.
  public let options: [Option]

  /// An option of a storage URL, which is a name and a value.
  public struct Option: Hashable, Sendable {
    /// The option's name.
    public let name: String
    /// The option's value, percent-decoded.
    public let value: String
  }

  /// Reads a URL.
  ///
  /// - Parameter text: `scheme://path?name=value&…`.
  /// - Throws: `invalid` when it has no scheme, a bad percent escape, a zero byte, an option without a value, or
  ///   an option twice.
  package init(_ text: String) throws(StoreError) {
    guard let (scheme, rest) = text.cut(at: "://"), !scheme.isEmpty else {
      throw StoreError(
        .invalid, "\"\(text)\" is not a store's URL: write it like lmdb:///path or memory://.")
    }
    let (path, query) = rest.cut(at: "?") ?? (rest, "")
    self.scheme = scheme.lowercased()
    self.path = try Self.decoded(path, in: text)
    var options: [Option] = []
    for part in query.split(separator: "&") {
      guard let (name, value) = String(part).cut(at: "="), !value.isEmpty else {
        throw StoreError(.invalid, "The option \"\(part)\" in \(text) has no value: name=value.")
      }
      guard !options.contains(where: { $0.name == name }) else {
        throw StoreError(.invalid, "The option \"\(name)\" stands twice in \(text): name it once.")
      }
      options.append(Option(name: name, value: try Self.decoded(value, in: text)))
    }
    self.options = options
  }

  /// The value of an option, or nil.
  public func value(of name: String) -> String? {
    options.first { $0.name == name }?.value
  }

  private static func decoded(_ text: String, in url: String) throws(StoreError) -> String {
    var bytes: Bytes = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next()?.hexDigit, let low = rest.next()?.hexDigit else {
        throw StoreError(.invalid, "A % in \(url) needs two hexadecimal digits; % itself is %25.")
      }
      bytes.append(high << 4 | low)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw StoreError(
        .invalid,
        "The percent escapes in \(url) are not UTF-8: escape the bytes of a character in UTF-8.")
    }
    guard !bytes.contains(0) else {
      throw StoreError(.invalid, "\(url) holds a zero byte, which no path may: leave %00 out.")
    }
    return decoded
  }
}

extension String {
  /// The parts before and after the first occurrence of a separator.
  fileprivate func cut(at separator: String) -> (String, String)? {
    guard let range = firstRange(of: separator) else { return nil }
    return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
  }

  // The standard library's own search needs the string-processing module; this is for short texts.
  private func firstRange(of separator: String) -> Range<String.Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(separator) {
        return start..<index(start, offsetBy: separator.count)
      }
      start = index(after: start)
    }
    return nil
  }
}
