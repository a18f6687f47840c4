import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct TextTests {
  @Test("Figures are written for people")
  func figures() {
    #expect([0, 999, 1000, -1_234_567].map(Figures.count) == ["0", "999", "1,000", "-1,234,567"])
    #expect(
      [0, 1023, 1536, 10 << 20].map(Figures.bytes) == ["0 B", "1023 B", "1.5 KB", "10.0 MB"])
    #expect(Figures.time(.microseconds(850)) == "850 µs")
    #expect(Figures.time(.milliseconds(12)) == "12.0 ms")
    #expect(Figures.time(.milliseconds(1250)) == "1.25 s")
    #expect(
      [1, 2000].map { Figures.some($0, "write") } == ["1 write", "2,000 writes"])
    #expect(
      [-5, 60_000, 7_200_000, 172_800_000].map { Figures.age(milliseconds: $0) }
        == ["0 minutes", "1 minute", "2 hours", "2 days"])
    #expect(Figures.fixed(-0.04, 1) == "0.0")
    #expect(Figures.fixed(2.25, 1) == "2.3")
    #expect(Figures.fixed(9.999, 2) == "10.00")
  }

  @Test("A table pads all columns but the last")
  func table() {
    var table = Table(["what", "figure"])
    table.add("leaves", "3")
    #expect(table.lines == ["what    figure", "leaves  3"])
  }

  @Test("Reports keep the order of their members and escape their text")
  func report() {
    let report = Report.object([
      ("z", .list([.null, .bool(true), .number(1.5)])), ("a", .string("\"\n")),
      ("n", .node(["k": 1])),
    ])
    #expect(report.compact == #"{"z":[null,true,1.5],"a":"\"\n","n":{"k":1}}"#)
  }
}
