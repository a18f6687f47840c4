import Foundation
import TestSupport
import Testing

/// A headless Chromium that a test drives, by the DevTools protocol over a pair of pipes.
final class Browser: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Debian's browser, and others' names for it.
  static let executable: String? =
    ["chromium", "chromium-browser", "google-chrome"].flatMap { name in
      ["/usr/bin/", "/usr/local/bin/", "/snap/bin/"].map { $0 + name }
    }.first { FileManager.default.isExecutableFile(atPath: $0) }

  /// What is touched on the queue alone, as reading from a pipe holds a thread.
  private nonisolated(unsafe) var state: State
  private let queue = DispatchQueue(label: "conifer.tests.browser")

  fileprivate struct State {
    let program: RunningProgram
    let profile: URL
    var buffer = Data()
    var lastCall = 0
    var session: String?
  }

  init(width: Int = 1100, height: Int = 800) async throws {
    let profile = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-browser-\(UUID().uuidString)")
    // DevTools speaks through the descriptors 3 and 4.
    let program = try RunningProgram(
      "/bin/sh",
      [
        "-c", #"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#,
        try #require(Self.executable), "--headless", "--no-sandbox", "--disable-gpu",
        "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir=\(profile.path)",
        "--window-size=\(width),\(height)", "--remote-debugging-pipe", "about:blank",
      ], takesInput: true, output: .read)
    state = State(program: program, profile: profile)
    try await on { state in
      let targets = try state.call("Target.getTargets", [:])["targetInfos"] as? [[String: Any]]
      let page = targets?.first { $0["type"] as? String == "page" }?["targetId"] as? String
      state.session =
        try state.call(
          "Target.attachToTarget", ["targetId": page ?? "", "flatten": true])["sessionId"]
        as? String
      for domain in ["Page", "Runtime"] { _ = try state.call("\(domain).enable", [:]) }
    }
  }

  func close() async {
    await withCheckedContinuation { continuation in
      queue.async {
        _ = try? self.state.call("Browser.close", [:])
        self.state.program.waitForEnd()
        try? FileManager.default.removeItem(at: self.state.profile)
        continuation.resume()
      }
    }
  }

  func open(_ url: String) async throws {
    try await on { _ = try $0.call("Page.navigate", ["url": url]) }
  }

  /// The value of a JavaScript expression, as JSON.
  @discardableResult
  func json(_ expression: String) async throws -> String {
    try await on { state in
      let answer = try state.call(
        "Runtime.evaluate",
        [
          "expression": "(async () => JSON.stringify(await (\(expression))))()",
          "awaitPromise": true, "returnByValue": true,
        ])
      if let thrown = answer["exceptionDetails"] { throw Failure(description: "\(thrown)") }
      return (answer["result"] as? [String: Any])?["value"] as? String ?? "undefined"
    }
  }

  /// Whether a JavaScript expression is true.
  func holds(_ expression: String) async throws -> Bool { try await json(expression) == "true" }

  /// Waits until a JavaScript expression is true; gives up after a minute.
  func wait(
    for expression: String, at location: SourceLocation = #_sourceLocation
  ) async throws {
    for _ in 0..<600 {
      if (try? await holds("!!(\(expression))")) == true { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("The page never had: \(expression)", sourceLocation: location)
    throw Failure(description: "The page never had: \(expression)")
  }

  /// Presses a key, as its name in the DOM has it.
  func press(_ key: String, control: Bool = false) async throws {
    let codes = [
      "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
      "ArrowRight": 39, "ArrowDown": 40, "Insert": 45, "Delete": 46, "F2": 113, "Tab": 9,
    ]
    let code = codes[key] ?? Int(key.uppercased().utf8.first ?? 0)
    let text = key == "Enter" ? "\r" : key.count == 1 && !control ? key : nil
    try await on { state in
      var event: [String: Any] = [
        "type": text == nil ? "rawKeyDown" : "keyDown", "key": key,
        "windowsVirtualKeyCode": code, "modifiers": control ? 2 : 0,
      ]
      event["text"] = text
      _ = try state.call("Input.dispatchKeyEvent", event)
      event["text"] = nil
      event["type"] = "keyUp"
      _ = try state.call("Input.dispatchKeyEvent", event)
    }
  }

  /// Keeps a picture of the page for people, in the folder that `CONIFER_SCREENSHOTS` names.
  func picture(_ name: String) async throws {
    guard let folder = ProcessInfo.processInfo.environment["CONIFER_SCREENSHOTS"] else { return }
    try await on { state in
      let text = try state.call("Page.captureScreenshot", [:])["data"] as? String ?? ""
      let file = URL(fileURLWithPath: folder).appendingPathComponent("\(name).png")
      try (Data(base64Encoded: text) ?? Data()).write(to: file)
    }
  }

  func type(_ text: String) async throws {
    try await on { _ = try $0.call("Input.insertText", ["text": text]) }
  }

  func prefer(scheme: String) async throws {
    try await on {
      _ = try $0.call(
        "Emulation.setEmulatedMedia",
        ["features": [["name": "prefers-color-scheme", "value": scheme]]])
    }
  }

  func resize(_ width: Int, _ height: Int) async throws {
    try await on {
      _ = try $0.call(
        "Emulation.setDeviceMetricsOverride",
        ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }
  }

  private func on<R: Sendable>(_ body: @escaping @Sendable (inout State) throws -> R) async throws
    -> R
  {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body(&self.state) }) }
    }
  }
}

extension Browser.State {
  /// Calls a method and waits for its answer; events in between are of no interest.
  fileprivate mutating func call(
    _ method: String, _ parameters: [String: Any]
  ) throws -> [String: Any] {
    lastCall += 1
    var message: [String: Any] = ["id": lastCall, "method": method, "params": parameters]
    message["sessionId"] = session
    try program.write(JSONSerialization.data(withJSONObject: message) + [0])
    while true {
      while let end = buffer.firstIndex(of: 0) {
        let answer = try JSONSerialization.jsonObject(with: buffer[..<end]) as? [String: Any]
        buffer = Data(buffer[(end + 1)...])
        guard let answer, answer["id"] as? Int == lastCall else { continue }
        if let error = answer["error"] { throw Browser.Failure(description: "\(method): \(error)") }
        return answer["result"] as? [String: Any] ?? [:]
      }
      let more = try program.read()
      if more.isEmpty { throw Browser.Failure(description: "The browser is gone.") }
      buffer.append(contentsOf: more)
    }
  }
}
