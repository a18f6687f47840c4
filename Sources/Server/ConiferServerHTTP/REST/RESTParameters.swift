import ConiferTree

/// The parameters of a request that control its answer.
struct RESTParameters {
  enum Print { case compact, pretty, silent }

  var print = Print.compact
  var form = Node.JSONForm.plain
  var isShallow = false
  /// The maximum size of a write in bytes; nil for the configured one.
  var writeLimit: Int?
  /// The time at which a read must be ready; nil for no limit.
  var deadline: ContinuousClock.Instant?
  /// The name of the file in which a browser saves the answer.
  var download: String?
  /// The function that is called with the answer.
  var callback: String?

  init(_ request: HTTPRequest) throws(RESTRefusal) {
    switch request.parameter("print") {
    case "pretty"?: print = .pretty
    case "silent"?: print = .silent
    default: break
    }
    if request.parameter("format") == "export" { form = .export }
    isShallow = request.parameter("shallow") == "true"
    if let text = request.parameter("timeout") {
      deadline = ContinuousClock.now + (try RESTParameters.duration(text))
    }
    if let text = request.parameter("writeSizeLimit") {
      guard let limit = RESTParameters.writeLimits[text] else {
        throw RESTRefusal(
          400, "writeSizeLimit must be one of tiny, small, medium, large and unlimited.")
      }
      writeLimit = limit
    }
    if let name = request.parameter("download"), !name.isEmpty {
      download = RESTParameters.fileName(name)
    }
    if let name = RESTParameters.callback(request) {
      guard RESTParameters.isFunction(name) else {
        throw RESTRefusal(400, "callback must be the name of a JavaScript function.")
      }
      callback = name
    }
  }

  /// The function that the script must call; nil when the request is for data.
  static func callback(_ request: HTTPRequest) -> String? {
    guard request.method == "GET", let name = request.parameter("callback"), !name.isEmpty else {
      return nil
    }
    return name
  }

  /// The service's limits are estimated times of a write: 1, 10, 30 and 60 seconds. Here a second
  /// corresponds to a mebibyte.
  private static let writeLimits: [String: Int?] = [
    "tiny": 1 << 20, "small": 10 << 20, "medium": 30 << 20, "large": 60 << 20, "unlimited": nil,
  ]

  /// A time such as `500ms`, `10s` or `3min`: more than 0, and at most 15 minutes.
  private static func duration(_ text: String) throws(RESTRefusal) -> Duration {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let units = ["ms": 1, "s": 1000, "min": 60_000]
    if let count = Int(digits), let unit = units[String(text.dropFirst(digits.count))],
      count > 0, count <= 900_000 / unit
    {
      return .milliseconds(count * unit)
    }
    throw RESTRefusal(
      400, "timeout must be a number with ms, s or min, such as 10s, and at most 15min.")
  }

  /// Refuses a read that exceeded its timeout.
  func checkTime() throws(RESTRefusal) {
    guard let deadline, ContinuousClock.now > deadline else { return }
    throw RESTRefusal(
      400, "The read takes longer than its timeout. Read less, or raise the timeout.")
  }

  /// A valid file name for a header, without folders.
  private static func fileName(_ name: String) -> String {
    let bytes = name.utf8.prefix(128).map { byte -> UInt8 in
      switch byte {
      case 0x20, 0x28, 0x29, 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: byte
      default: UInt8(ascii: "_")
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a text is only a function's name, such as `gotData` or `app.handlers[0]`.
  private static func isFunction(_ name: String) -> Bool {
    guard name.utf8.count <= 128, let first = name.utf8.first else { return false }
    func isLetter(_ byte: UInt8) -> Bool {
      (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
        || byte == UInt8(ascii: "$")
    }
    return isLetter(first)
      && name.utf8.allSatisfy {
        isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".")
          || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]")
      }
  }
}
