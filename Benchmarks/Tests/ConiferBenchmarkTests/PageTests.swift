import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct PageTests {
  /// Debian's headless browser, and others' names for it.
  static var browser: String? {
    ["chromium", "chromium-browser", "google-chrome"].flatMap { name in
      ["/usr/bin/", "/usr/local/bin/", "/snap/bin/"].map { $0 + name }
    }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static func report() throws -> HTMLReport {
    HTMLReport(
      try ReportingTests.record([
        ("load", .W1, ["log": [1, 2, 3], "raw LMDB": [2, 3, 4]]),
        ("room", .W3, ["log": [1, 1, 1], "raw LMDB": [900, 900, 901]]),
      ]))
  }

  @Test func `The page holds charts, tables and the record, and loads nothing`() throws {
    let page = try Self.report().page()
    #expect(page.components(separatedBy: "<svg class=\"chart\"").count - 1 == 2)
    #expect(page.contains("what &lt;load&gt; is"))
    #expect(!page.contains("what <load>"))
    #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("src="))
    #expect(page.contains("prefers-color-scheme: dark"))
    #expect(page.contains("W1 leaves a second"))
    let start = try #require(page.range(of: "id=\"record\">"))
    let end = try #require(page.range(of: "</script>", range: start.upperBound..<page.endIndex))
    let json = Data(page[start.upperBound..<end.lowerBound].utf8)
    #expect(try JSONDecoder().decode(RunRecord.self, from: json).outcomes.count == 6)
  }

  @Test(
    .enabled(if: PageTests.browser != nil, "no chromium is installed: apt install chromium"))
  func `A browser draws every chart of the page`() throws {
    let report = try Self.report()
    // It tells what is drawn in an attribute, since nobody looks at the picture.
    let probe = """
      <script>
      const drawn = [...document.querySelectorAll('svg.chart')].filter((chart) => {
        const bars = [...chart.querySelectorAll('rect.bar')];
        const box = chart.getBoundingClientRect();
        return box.width > 200 && box.height > 30 && bars.length === 2
          && bars.every((bar) => bar.getBoundingClientRect().width > 0
            && getComputedStyle(bar).fill !== 'rgb(0, 0, 0)');
      });
      document.body.setAttribute('data-drawn', drawn.length);
      document.body.setAttribute('data-record',
        JSON.parse(document.getElementById('record').textContent).outcomes.length);
      </script></body>
      """
    let page = try report.page().replacingOccurrences(of: "</body>", with: probe)
    let own = NSTemporaryDirectory() + "/conifer-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: own) }
    try page.write(toFile: own + "/report.html", atomically: true, encoding: .utf8)
    let dom = try Self.dom(of: own + "/report.html", profile: own + "/profile")
    #expect(dom.contains("data-drawn=\"\(report.chartCount)\""))
    #expect(dom.contains("data-record=\"6\""))
    #expect(report.chartCount == 2)
  }

  private static func dom(of path: String, profile: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(browser))
    process.arguments = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--user-data-dir=\(profile)", "--dump-dom", "file://\(path)",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }
}
