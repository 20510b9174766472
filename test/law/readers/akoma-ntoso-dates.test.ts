import { expect, test } from 'vitest'
import { readDocument } from '#law/readers/read.ts'

test('an expression with a day of issue and one of publication is not from before its publication', async () => {
  const dates = '<FRBRdate date="2018-12-05" name="dateIssued"/><FRBRdate date="2018-12-10" name="datePublished"/>'
  const identification = `<FRBRWork><FRBRuri value="/akn/fi/act/2018/1050"/>${dates}</FRBRWork><FRBRExpression>${dates}</FRBRExpression>`
  const act = `<akomaNtoso><act><meta><identification>${identification}</identification></meta><body><section><num>1 §</num><content><p>Text.</p></content></section></body></act></akomaNtoso>`
  const { fields } = await readDocument('a-file', Buffer.from(act))
  expect(fields.publishedAt).toEqual({ day: '2018-12-10' })
  expect(fields.effectiveFrom).toEqual({ day: '2018-12-10', rule: 'expression' })
})

test('an expression with the day from which it is valid states it', async () => {
  const identification =
    '<FRBRWork><FRBRuri value="http://www.legislation.gov.uk/id/uksi/2003/2426"/><FRBRdate date="2003-12-11" name="coming into force"/><FRBRdate date="2003-09-18" name="made"/></FRBRWork><FRBRExpression><FRBRdate date="2018-05-25" name="validFrom"/></FRBRExpression>'
  const act = `<akomaNtoso><act><meta><identification>${identification}</identification></meta><body><section><num>1</num><content><p>Text.</p></content></section></body></act></akomaNtoso>`
  const { fields } = await readDocument('a-file', Buffer.from(act))
  expect(fields.publishedAt).toEqual({ day: '2003-09-18', rule: 'enactment' })
  expect(fields.effectiveFrom).toEqual({ day: '2018-05-25' })
})
